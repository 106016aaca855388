/**
 * Labels as the text that files hold: a JSON object with members in label order, so that equal
 * labels have equal texts and SQL can read them. Written by hand, because JavaScript would move
 * members like "1" to the front.
 */
import { compareText, Labels } from "../../promql/core/index.ts";

export function labelsJson(labels: Labels): string {
  const { pairs } = labels;
  let text = "{";
  for (let index = 0; index < pairs.length; index += 2) {
    if (index > 0) text += ",";
    text += `${JSON.stringify(pairs[index])}:${JSON.stringify(pairs[index + 1])}`;
  }
  return `${text}}`;
}

/** The text comes from a file with a checksum, so its shape is trusted; its order is not. */
export function parseLabelsJson(text: string): Labels {
  const record = JSON.parse(text) as Record<string, string>;
  const pairs: string[] = [];
  let before = "";
  for (const name in record) {
    const value = record[name] as string;
    if (value === "" || compareText(before, name) >= 0) return Labels.of(record);
    pairs.push(name, value);
    before = name;
  }
  return new Labels(pairs); // The usual case: already in order.
}
