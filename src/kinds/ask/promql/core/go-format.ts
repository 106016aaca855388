/** Formats numbers like Go's `fmt`, for messages and histograms that must equal Prometheus's. */

/** `%g`: the shortest exact digits; an exponent when it is below -4 or at least 6. */
export function formatGeneral(value: number): string {
  return formatDigits(value, Math.abs(value).toExponential(), 6);
}

/** `%.<digits>g`: at most this many digits, without trailing zeros. */
export function formatRounded(value: number, digits: number): string {
  return formatDigits(value, roundToEven(Math.abs(value), digits), digits);
}

/** Ties go to the even digit like in Go; JavaScript rounds them up. */
function roundToEven(value: number, digits: number): string {
  const rounded = value.toExponential(digits - 1);
  const [mantissa = "", exponent = ""] = value.toExponential(100).split("e");
  const exact = mantissa.replace(".", "");
  const isTie = /^50*$/.test(exact.slice(digits));
  if (!isTie || Number(exact[digits - 1]) % 2 === 1) return rounded;
  const fraction = digits > 1 ? `.${exact.slice(1, digits)}` : "";
  return `${exact[0]}${fraction}e${exponent}`;
}

function formatDigits(value: number, scientific: string, exponentMax: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "0", exponentText = "0"] = scientific.split("e");
  const exponent = Number(exponentText);
  const digits = mantissa.replace(".", "").replace(/0+$/, "") || "0";
  if (exponent < -4 || exponent >= exponentMax) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const power = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${power}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const fraction = digits.slice(exponent + 1);
  return fraction === "" ? sign + whole : `${sign}${whole}.${fraction}`;
}
