/** Parses the numbers of the text formats: Go's ParseFloat, without hexadecimal and underscores. */

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const special: ReadonlyMap<string, number> = new Map([
  ["inf", Number.POSITIVE_INFINITY],
  ["infinity", Number.POSITIVE_INFINITY],
  ["nan", Number.NaN],
]);

/** Undefined when the text is not a number or is out of range. */
export function parseFloat64(text: string): number | undefined {
  if (decimal.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  const sign = text[0] === "-" ? -1 : 1;
  const unsigned = text[0] === "-" || text[0] === "+" ? text.slice(1) : text;
  const value = special.get(unsigned.toLowerCase());
  if (value === undefined) return undefined;
  return Number.isNaN(value) ? (text === unsigned ? value : undefined) : sign * value;
}

/** Powers of ten that a float64 holds exactly, so that dividing by one rounds only once. */
export const exactPowersOfTen: Float64Array = Float64Array.from({ length: 23 }, (_, exponent) =>
  Number(`1e${exponent}`),
);

/** Formats a bound or a quantile like OpenMetrics, always with a point or an exponent. */
export function openMetricsFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  if (Object.is(value, -0)) return "0.0";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  // Go's %g uses an exponent below -4 and from 21 on.
  if (exponent < -4 || exponent >= 21) {
    const sign = exponent < 0 ? "-" : "+";
    return `${mantissa}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const plain = String(value);
  return plain.includes(".") ? plain : `${plain}.0`;
}
