import { nearestWord } from "../../../../ground/kernel/nearest-word.ts";

/** The hint of an error about a name that is not known. Undefined when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestWord(name, known);
  return nearest === undefined ? undefined : `Did you mean ${nearest}?`;
}
