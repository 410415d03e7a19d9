twinstep_test(unit_hw_profiles SOURCES unit/cluster_facts_test.cpp unit/hw_profiles_test.cpp unit/profile_fields_test.cpp DEPENDS hw_profiles)
target_compile_definitions(unit_hw_profiles PRIVATE TWINSTEP_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
twinstep_test(unit_hw_profiles_check SOURCES unit/hw_profiles_check_test.cpp DEPENDS hw_profiles tests_schema)
twinstep_test(fuzz_profiles SOURCES fuzz/profile_mutation_test.cpp DEPENDS hw_profiles)
