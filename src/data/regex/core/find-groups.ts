/**
 * Matches a whole text and finds its groups. All threads of the program advance together, one
 * character at a time, in order of preference; so the time is at most the text's length times the
 * program's.
 */
import { rangesContain } from "./char-ranges.ts";
import type { Effort } from "./effort.ts";
import type { Program } from "./program.ts";
import type { AssertKind } from "./regex-tree.ts";

/** Positions saved by a thread, the latest first. Threads that split later share them. */
interface Notes {
  readonly slot: number;
  readonly at: number;
  readonly earlier: Notes | undefined;
}

/** What the groups matched, the whole text first; unused groups are empty. Undefined: no match. */
export function findGroups(program: Program, text: string, effort: Effort): string[] | undefined {
  const notes = new Run(program, text, effort).run();
  if (notes === "none") return undefined;
  const bounds: number[] = [];
  for (let note = notes; note !== undefined; note = note.earlier) bounds[note.slot] ??= note.at;
  const groups = [text];
  for (let group = 1; group < program.groupCount; group += 1) {
    const start = bounds[2 * group];
    const end = bounds[2 * group + 1];
    groups.push(start === undefined || end === undefined ? "" : text.slice(start, end));
  }
  return groups;
}

class Run {
  readonly #program: Program;
  readonly #text: string;
  /** The instructions that wait for the next character, and the positions saved before each. */
  #waiting: number[] = [];
  #notes: (Notes | undefined)[] = [];
  /** The round in which an instruction was reached. */
  readonly #reached: Uint32Array;
  #round = 0;
  readonly #effort: Effort;

  constructor(program: Program, text: string, effort: Effort) {
    this.#program = program;
    this.#text = text;
    this.#effort = effort;
    this.#reached = new Uint32Array(program.instructions.length);
  }

  run(): Notes | undefined | "none" {
    const { instructions, start } = this.#program;
    const text = this.#text;
    this.#round = 1;
    let matched = this.#follow(start, 0, undefined);
    for (let at = 0; at < text.length; ) {
      if (this.#waiting.length === 0) return "none";
      const code = text.codePointAt(at) as number;
      at += code > 0xffff ? 2 : 1;
      const waiting = this.#waiting;
      const notes = this.#notes;
      this.#waiting = [];
      this.#notes = [];
      this.#round += 1;
      this.#effort.spend(waiting.length, 1);
      matched = "none";
      for (let index = 0; index < waiting.length && matched === "none"; index += 1) {
        const instruction = instructions[waiting[index] as number];
        if (instruction?.op !== "set" || !rangesContain(instruction.ranges, code)) continue;
        matched = this.#follow(instruction.next, at, notes[index]);
      }
    }
    return matched;
  }

  /** Follows all instructions that need no character. A match ends it: the rest is worse. */
  #follow(from: number, at: number, first: Notes | undefined): Notes | undefined | "none" {
    const { instructions } = this.#program;
    const pending: [at: number, notes: Notes | undefined][] = [[from, first]];
    for (let top = pending.pop(); top !== undefined; top = pending.pop()) {
      const [index, notes] = top;
      if (this.#reached[index] === this.#round) continue;
      this.#reached[index] = this.#round;
      const instruction = instructions[index];
      switch (instruction?.op) {
        case "match":
          return notes;
        case "set":
          this.#waiting.push(index);
          this.#notes.push(notes);
          break;
        case "split":
          pending.push([instruction.other, notes], [instruction.next, notes]);
          break;
        case "save":
          pending.push([instruction.next, { slot: instruction.slot, at, earlier: notes }]);
          break;
        case "assert":
          if (holds(instruction.what, this.#text, at)) pending.push([instruction.next, notes]);
          break;
      }
    }
    return "none";
  }
}

function holds(what: AssertKind, text: string, at: number): boolean {
  switch (what) {
    case "beginText":
      return at === 0;
    case "endText":
      return at === text.length;
    case "beginLine":
      return at === 0 || text[at - 1] === "\n";
    case "endLine":
      return at === text.length || text[at] === "\n";
    case "wordBoundary":
      return isWord(text[at - 1]) !== isWord(text[at]);
    case "noWordBoundary":
      return isWord(text[at - 1]) === isWord(text[at]);
  }
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^[0-9A-Za-z_]$/.test(character);
}
