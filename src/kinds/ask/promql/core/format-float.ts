/** Formats numbers like Go's strconv, with the fewest digits that identify the number. */

/** Without an exponent, as in Prometheus's answers. */
export function formatFloat(value: number): string {
  // The path of nearly every value: digits without an exponent.
  if (value !== 0 && value > -1e21 && value < 1e21 && (value >= 1e-6 || value <= -1e-6)) {
    return String(value);
  }
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const { sign, digits, point } = decimal(value);
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (point >= digits.length) return `${sign}${digits}${"0".repeat(point - digits.length)}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** With a fixed number of decimals. */
export function formatFixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return formatFloat(value);
  if (Math.abs(value) < 1e21) return value.toFixed(decimals);
  return `${BigInt(value)}.${"0".repeat(decimals)}`;
}

/** The digits, and how many of them are before the decimal point. */
function decimal(value: number): { sign: string; digits: string; point: number } {
  const [mantissa = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  return { sign: value < 0 ? "-" : "", digits, point: Number(exponent) + 1 };
}
