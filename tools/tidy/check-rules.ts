/**
 * Rules of a SPEC.md and the tests that prove them. A rule is a bold id, `**XY1**`, in a list or a
 * table; several may share a line. A test of the same room cites it as `[XY1]`, or one of whole
 * processes or of the simulation.
 */
import { roomOf } from "./rooms.ts";
import { isTest, type SourceFile } from "./sources.ts";

interface SpecRule {
  readonly id: string;
  readonly line: string;
  /** `file:line` */
  readonly place: string;
}

const rulesLine = /^\s*[-|]\s*\*\*[A-Z]{1,3}\d+\*\*/;
const ruleId = /\*\*([A-Z]{1,3}\d+)\*\*/g;
const citation = /\[([A-Z]{1,3}\d+(?:, ?[A-Z]{1,3}\d+)*)\]/g;

export function rulesOf(specs: readonly SourceFile[]): SpecRule[] {
  return specs.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) =>
      rulesLine.test(line)
        ? [...line.matchAll(ruleId)].map(([, id]) => ({
            id: id as string,
            line,
            place: `${path}:${index + 1}`,
          }))
        : [],
    ),
  );
}

/** Every rule is cited by a test of its room, or its line says `(no test)`. */
export function checkRules(specs: readonly SourceFile[], files: readonly SourceFile[]): string[] {
  const cited = new Set(citationsOf(files).map(({ id, place }) => `${roomName(place)} ${id}`));
  return rulesOf(specs).flatMap(({ id, place, line }) => {
    const isCited = cited.has(`${roomName(place)} ${id}`) || cited.has(`${everyRoom} ${id}`);
    if (line.includes("(no test)") || isCited) return [];
    return [`${place}: no test of its room cites ${id}`];
  });
}

const everyRoom = "every room";

function roomName(place: string): string {
  const room = roomOf(place);
  if (room === undefined && place.startsWith("web/")) return "web";
  return room === undefined || room.floor === "processes" ? everyRoom : room.name;
}

/** A test cites a rule by its id alone: an id that two rules have proves neither. */
export function checkRuleIds(specs: readonly SourceFile[]): string[] {
  const places = new Map<string, string>();
  return rulesOf(specs).flatMap(({ id, place }) => {
    const first = places.get(id);
    if (first === undefined) places.set(id, place);
    return first === undefined ? [] : [`${place}: ${id} is a rule already, at ${first}`];
  });
}

/** A test that cites a rule which is nowhere proves nothing that anybody was promised. */
export function checkCitations(
  specs: readonly SourceFile[],
  files: readonly SourceFile[],
): string[] {
  const known = new Set(rulesOf(specs).map(({ id }) => id));
  return citationsOf(files).flatMap(({ id, place }) =>
    known.has(id) ? [] : [`${place}: no SPEC.md has the rule ${id}`],
  );
}

function citationsOf(files: readonly SourceFile[]): { id: string; place: string }[] {
  return (
    files
      // Its own tests plant rules that nobody has.
      .filter(({ path }) => isTest(path) && !path.startsWith("tools/tidy/"))
      .flatMap(({ path, text }) =>
        text
          .split("\n")
          .flatMap((line, index) =>
            [...line.matchAll(citation)].flatMap(([, ids]) =>
              (ids as string).split(/, ?/).map((id) => ({ id, place: `${path}:${index + 1}` })),
            ),
          ),
      )
  );
}
