/** `PromQL warning: … (1:5)`: as the API and people read it. */
import type { Annotation } from "../model.ts";

export function formatAnnotation(query: string, annotation: Annotation): string {
  const { level, message, position } = annotation;
  return `PromQL ${level}: ${message} (${lineAndColumn(query, position.start)})`;
}

/** Both from 1, the column in bytes of UTF-8. */
function lineAndColumn(query: string, offset: number): string {
  if (query === "") return "unknown position";
  const bytes = new TextEncoder().encode(query);
  if (offset < 0 || offset > bytes.length) return "invalid position";
  const before = bytes.subarray(0, offset);
  const lastBreak = before.lastIndexOf(0x0a);
  let line = 1;
  for (const byte of before) if (byte === 0x0a) line += 1;
  return `${line}:${offset - lastBreak}`;
}
