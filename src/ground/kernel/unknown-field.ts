/** The message about a field that a document or a request may not have. */
import { nearestWord } from "./nearest-word.ts";

/** The field that was probably meant: also `duration_seconds` for `duration`. */
export function suggestField(word: string, known: readonly string[]): string | undefined {
  const part = word.toLowerCase();
  return nearestWord(word, known, (candidate) =>
    part.length < 3 ? false : candidate.startsWith(part) || candidate.split("_").includes(part),
  );
}

export function unknownField(key: string, known: readonly string[]): string {
  const meant = suggestField(key, known);
  const hint = meant === undefined ? `it may have ${known.join(", ")}` : `did you mean ${meant}?`;
  return `there is no field ${JSON.stringify(key.slice(0, 60))}; ${hint}`;
}
