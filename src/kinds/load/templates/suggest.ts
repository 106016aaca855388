import { nearestWord } from "../../../ground/kernel/nearest-word.ts";

/** The field that was probably meant: also `duration_seconds` for `duration`. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const part = word.toLowerCase();
  return nearestWord(word, known, (candidate) =>
    part.length < 3 ? false : candidate.startsWith(part) || candidate.split("_").includes(part),
  );
}
