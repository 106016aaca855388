/** Functions of numbers that JavaScript does not have, or has otherwise than C. */
import { DialectError } from "../../../language/core/index.ts";

/** Ties go away from zero. */
export function roundHalfAway(value: number): number {
  const whole = Math.trunc(value);
  if (Math.abs(value - whole) < 0.5) return whole;
  return value < 0 ? whole - 1 : whole + 1;
}

/** C's `pow`: 1 to any power and -1 to an infinite one are 1, where JavaScript gives NaN. */
export function power(base: number, exponent: number): number {
  if (base === 1) return 1;
  if (base === -1 && (exponent === Infinity || exponent === -Infinity)) return 1;
  return base ** exponent;
}

export function failDivision(): never {
  throw new DialectError(3013, "division by zero", {
    hint: "Guard the division: CASE WHEN b = 0 THEN NULL ELSE a / b END.",
  });
}

export function failAbsolute(): never {
  throw new DialectError(3013, "ABS of the least integer does not fit in its type");
}
