import { nearestWord } from "../../../../ground/kernel/nearest-word.ts";

/** The hint of an error about a name that is not known. Undefined when no known name is near. */
export function didYouMean(name: string, known: Iterable<string>): string | undefined {
  const nearest = nearestWord(name, known);
  return nearest === undefined ? undefined : `Did you mean ${nearest}?`;
}

const listedMax = 10;

/** The same, with the names that there are where none is near. */
export function meantOrKnown(
  name: string,
  known: readonly string[],
  what: "source" | "sink",
): string {
  const meant = didYouMean(name, known);
  if (meant !== undefined) return meant;
  if (known.length === 0) return `There are no ${what}s yet.`;
  const more = known.length > listedMax ? ` and ${known.length - listedMax} more` : "";
  return `There are: ${known.slice(0, listedMax).join(", ")}${more}.`;
}
