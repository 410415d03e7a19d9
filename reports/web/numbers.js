// Numbers, as people read them. Six digits, except that whole numbers are whole.

function numberText(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return String(Number(value.toPrecision(6)));
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  return shown.toLocaleString("en-US", {maximumFractionDigits: 12});
}

/// "8 MiB" for 8388608; "" for what is not a whole number of KiB or a larger unit.
function binaryText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && bytes % 1024 === 0 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return unit > 0 && bytes < 1024 ? `${bytes} ${units[unit]}` : "";
}

/// A value of an axis with its unit, or the name of a category.
function valueText(value, axis) {
  if (axis.categories.length > 0) return axis.categories[value] ?? "";
  if (axis.unit === "") return numberText(value);
  const binary = axis.unit === "B" ? binaryText(value) : "";
  return `${numberText(value)}\u00a0${axis.unit}` + (binary && ` (${binary})`);
}

/// A value beside an axis, whose title has the unit.
function tickText(value, axis) {
  return (axis.unit === "B" && binaryText(value)) || numberText(value);
}

function axisTitle(axis) {
  if (axis.name === "") return axis.unit;
  return axis.unit === "" ? axis.name : `${axis.name} (${axis.unit})`;
}

/// "3 to 5", or "".
function intervalText(point) {
  return hasInterval(point) ? `${numberText(point.y_low)} to ${numberText(point.y_high)}` : "";
}

function hasInterval(point) {
  return point.y_low !== null && point.y_high !== null;
}
