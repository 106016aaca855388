/**
 * Limits on the labels of a series and on the buckets of a histogram, under the names that
 * operators use (`--limit`). 0 means no limit.
 */
import { quoted } from "./labels-text.ts";

export interface LabelLimits {
  readonly labels_per_series: number;
  readonly label_name_bytes: number;
  readonly label_value_bytes: number;
  readonly series_label_bytes: number;
  readonly buckets_per_histogram: number;
}

export const usualLabelLimits: LabelLimits = {
  labels_per_series: 128,
  label_name_bytes: 1_024,
  label_value_bytes: 16_384,
  series_label_bytes: 65_536,
  buckets_per_histogram: 4_096,
};

const shownMax = 64;

/**
 * `pairs` is name, value, name, value … Returns why they are too many or too long, or undefined.
 */
export function labelProblem(
  pairs: readonly (string | undefined)[],
  limits: LabelLimits,
): string | undefined {
  const { labels_per_series: count, label_name_bytes: name, label_value_bytes: value } = limits;
  if (count > 0 && pairs.length > 2 * count) {
    const named = pairs.indexOf("__name__") + 1;
    const of = named % 2 === 1 ? ` of ${shown(pairs[named])}` : "";
    return `a series${of} has ${pairs.length / 2} labels; the limit labels_per_series is ${count}`;
  }
  for (let index = 0; index < pairs.length; index += 2) {
    if (isLonger(pairs[index], name)) {
      return `the label name ${shown(pairs[index])} is too long; the limit label_name_bytes is ${name}`;
    }
    if (isLonger(pairs[index + 1], value)) {
      return `the value of label ${shown(pairs[index])} is too long; the limit label_value_bytes is ${value}`;
    }
  }
  const { series_label_bytes: all } = limits;
  const length = pairs.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  if (all > 0 && length * 3 > all && pairs.reduce(addBytes, 0) > all) {
    return `the labels of a series are too long together; the limit series_label_bytes is ${all}`;
  }
  return undefined;
}

function addBytes(sum: number, text: string | undefined): number {
  return sum + utf8Bytes(text ?? "");
}

/** A UTF-16 unit takes one to three bytes in UTF-8, so few texts have to be measured. */
function isLonger(text: string | undefined, bytesMax: number): boolean {
  if (bytesMax === 0 || text === undefined || text.length * 3 <= bytesMax) return false;
  return text.length > bytesMax || utf8Bytes(text) > bytesMax;
}

function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

function shown(text: string | undefined): string {
  const whole = text ?? "\ufffd";
  return quoted(whole.length > shownMax ? `${whole.slice(0, shownMax)}…` : whole);
}
