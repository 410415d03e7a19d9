#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "sim/base/input_error.hpp"
#include "validate/cpu/gloo/socket.hpp"
#include "validate/cpu/gloo/word_store.hpp"

// A client says kGreeting and gets it back. Then, as often as it likes: 's' and two texts, key and word, answered by
// 'y'; or 'g' and a key, answered by 'y' and a text, or by 'n'. A text is its size (32 bits, little end first) and its
// bytes.

namespace twinstep::cpu {
namespace {

constexpr char kGreeting[] = "twinstep store 1\n";
constexpr auto kAnswersWithin = std::chrono::seconds{5};

std::string packed(std::string const& text) {
  auto out = std::string{};
  for (auto shift = 0U; shift < 32; shift += 8) out += static_cast<char>((text.size() >> shift) & 0xffU);
  return out + text;
}

std::optional<std::string> receive_text(Socket const& socket) {
  auto const head = socket.receive(4);
  if (!head) return std::nullopt;
  auto size = std::size_t{0};
  for (auto i = 0U; i < 4; ++i) size += std::size_t{static_cast<unsigned char>((*head)[i])} << (8 * i);
  constexpr std::size_t kLargest = 1U << 20U;
  return size <= kLargest ? socket.receive(size) : std::nullopt;
}

/// Keeps the words, and answers whoever connects, one at a time.
class Server {
 public:
  explicit Server(std::string const& port) : listener_{listen_at(port)}, thread_{[this] { serve(); }} {}
  Server(Server const&) = delete;
  Server& operator=(Server const&) = delete;
  ~Server() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void serve() {
    constexpr auto kLooksForTheEndEvery = 50;  // milliseconds
    while (!is_over_) {
      auto waiting = std::vector<::pollfd>{{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0}};
      for (auto const& client : clients_)
        waiting.push_back({.fd = client.descriptor(), .events = POLLIN, .revents = 0});
      if (::poll(waiting.data(), waiting.size(), kLooksForTheEndEvery) <= 0) continue;
      for (std::size_t i = waiting.size() - 1; i > 0; --i)
        if (waiting[i].revents != 0 && !answer(clients_[i - 1]))
          clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (waiting[0].revents != 0) welcome(listener_.accept());
    }
  }

  void welcome(Socket client) {
    client.set_patience(kAnswersWithin);
    auto const greeting = client.receive(sizeof kGreeting - 1);
    if (greeting == kGreeting && client.send(kGreeting)) clients_.push_back(std::move(client));
  }

  /// Whether the client is still there.
  bool answer(Socket const& client) {
    auto const command = client.receive(1);
    if (!command) return false;
    auto const key = receive_text(client);
    if (!key) return false;
    if (command == "s") {
      auto word = receive_text(client);
      if (!word) return false;
      words_[*key] = std::move(*word);
      return client.send("y");
    }
    auto const found = words_.find(*key);
    return client.send(found == words_.end() ? "n" : "y" + packed(found->second));
  }

  Socket listener_;
  std::vector<Socket> clients_;
  std::map<std::string, std::string> words_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;  // last: it uses all of the above
};

class TcpStore final : public WordStore {
 public:
  TcpStore(std::string const& address, std::string const& port, bool serves, std::chrono::milliseconds patience) {
    if (serves) server_.emplace(port);
    socket_ = connect_to(address, port, patience);
    if (!socket_.exists())
      throw InputError{fmt::format(
          "{}:{}: nobody answers within {} s, expected process 0 of the job; start it, and check MASTER_ADDR and "
          "MASTER_PORT",
          one_line(address), port, std::chrono::duration<double>{patience}.count())};
    socket_.set_patience(kAnswersWithin);
    if (!socket_.send(kGreeting) || socket_.receive(sizeof kGreeting - 1) != kGreeting)
      throw InputError{
          fmt::format("{}:{}: what answers there is not process 0 of the job; set MASTER_PORT to a free port",
                      one_line(address), port)};
  }

  void leave(std::string const& key, std::string const& word) override {
    auto const lock = std::scoped_lock{one_at_a_time_};
    if (!socket_.send("s" + packed(key) + packed(word)) || socket_.receive(1) != "y")
      throw InputError{"the connection to process 0's store is closed; see what ended process 0"};
  }

 private:
  std::optional<std::string> find(std::string const& key) override {
    auto const lock = std::scoped_lock{one_at_a_time_};
    if (!socket_.send("g" + packed(key)) || socket_.receive(1) != "y") return std::nullopt;
    return receive_text(socket_);
  }

  std::optional<Server> server_;
  Socket socket_;
  std::mutex one_at_a_time_;
};

}  // namespace

std::unique_ptr<WordStore> open_tcp_store(std::string const& address, std::string const& port, bool serves,
                                          std::chrono::milliseconds patience) {
  return std::make_unique<TcpStore>(address, port, serves, patience);
}

}  // namespace twinstep::cpu
