/** Numbers that follow the size of the data: `100000 * :scale + 1`. */
import type { Scaled } from "./document.ts";

const pattern = /^(?:(\d{1,15})\s*\*\s*)?:scale(?:\s*([+-])\s*(\d{1,15}))?$/;

export const scaledForm = "a number, or a text such as 100000 * :scale + 1";

export function isScaledText(text: string): boolean {
  return pattern.test(text.trim());
}

export function scaledNumber(value: Scaled, scale: number): number {
  if (typeof value === "number") return value;
  const [, factor = "1", sign = "+", rest = "0"] = pattern.exec(value.trim()) ?? [];
  return Number(factor) * scale + (sign === "-" ? -1 : 1) * Number(rest);
}
