// Numbers, as people read them. Six digits, except that whole numbers are whole.

function numberText(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return String(Number(value.toPrecision(6)));
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  return shown.toLocaleString("en-US", {maximumFractionDigits: 12});
}

/// "8 MiB" for 8388608, "1 GB" for 1e9; "" for what is not a whole number below a thousand of a larger unit.
function shortBytes(bytes) {
  for (const [factor, units] of [[1024, ["KiB", "MiB", "GiB", "TiB"]], [1000, ["KB", "MB", "GB", "TB"]]])
    for (const [i, unit] of units.entries()) {
      const count = bytes / factor ** (i + 1);
      if (Number.isInteger(count) && count > 0 && count < 1000) return `${count} ${unit}`;
    }
  return "";
}

/// A value of an axis with its unit, or the name of a category.
function valueText(value, axis) {
  if (axis.categories.length > 0) return axis.categories[value] ?? "";
  if (axis.unit === "") return numberText(value);
  const short = axis.unit === "B" ? shortBytes(value) : "";
  return `${numberText(value)}\u00a0${axis.unit}` + (short && ` (${short})`);
}

/// A value beside an axis, whose title has the unit.
function tickText(value, axis) {
  if (axis.unit === "B" && shortBytes(value) !== "") return shortBytes(value);
  return Math.abs(value) >= 1e6 ? `${numberText(value / 1e6)}M` : numberText(value);
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
  return point.y_low !== undefined && point.y_high !== undefined;
}
