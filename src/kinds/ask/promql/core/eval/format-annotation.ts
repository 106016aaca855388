/** Formats an annotation as the API shows it: `PromQL warning: … (1:5)`. */
import type { Annotation } from "../model.ts";

export function formatAnnotation(query: string, annotation: Annotation): string {
  const { level, message, position } = annotation;
  return `PromQL ${level}: ${message} (${lineAndColumn(query, position.start)})`;
}

/** Both start at 1; the column counts UTF-8 bytes. */
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
