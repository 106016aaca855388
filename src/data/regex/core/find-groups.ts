/**
 * Finds groups: of a match of the whole text, or of the first match in it. All threads of the
 * program advance together, one character at a time, in order of preference; so the time is at
 * most the text's length times the program's.
 */
import { rangesContain } from "./char-ranges.ts";
import type { Effort } from "./effort.ts";
import type { Program } from "./program.ts";
import type { AssertKind } from "./regex-tree.ts";
import { StringInput, type TextInput } from "./text-input.ts";

/** Positions saved by a thread, the latest first. Threads that split later share them. */
interface Notes {
  readonly slot: number;
  readonly at: number;
  readonly earlier: Notes | undefined;
}

/** What the groups matched, the whole text first; unused groups are empty. Undefined: no match. */
export function findGroups(program: Program, text: string, effort: Effort): string[] | undefined {
  const notes = new Run(program, new StringInput(text), effort).matchWhole();
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

/**
 * Finds the first match at or behind `from`, of a program that was made for a search. `bounds`
 * gets where each group begins and ends, the whole match first; -1 for groups without a part in
 * it. Returns whether there is a match.
 */
export function findBounds(
  program: Program,
  input: TextInput,
  from: number,
  effort: Effort,
  bounds: Int32Array,
): boolean {
  const notes = new Run(program, input, effort).search(from);
  if (notes === "none") return false;
  bounds.fill(-1);
  for (let note = notes; note !== undefined; note = note.earlier) {
    if (bounds[note.slot] === -1) bounds[note.slot] = note.at;
  }
  for (let slot = 0; slot < bounds.length; slot += 2) {
    if (bounds[slot + 1] === -1) bounds[slot] = -1;
  }
  return true;
}

class Run {
  readonly #program: Program;
  readonly #input: TextInput;
  /** The instructions that wait for the next character, and the positions saved before each. */
  #waiting: number[] = [];
  #notes: (Notes | undefined)[] = [];
  /** The round in which an instruction was reached. */
  readonly #reached: Uint32Array;
  #round = 0;
  readonly #effort: Effort;

  constructor(program: Program, input: TextInput, effort: Effort) {
    this.#program = program;
    this.#input = input;
    this.#effort = effort;
    this.#reached = new Uint32Array(program.instructions.length);
  }

  matchWhole(): Notes | undefined | "none" {
    const { start, end } = this.#input;
    this.#round = 1;
    let matched = this.#follow(this.#program.start, start, undefined);
    for (let at = start; at < end; ) {
      if (this.#waiting.length === 0) return "none";
      const character = this.#input.characterAt(at);
      at += character & 7;
      matched = this.#advance(character >> 3, at);
    }
    return matched;
  }

  /** The best match that begins first: a new thread begins at each place until there is one. */
  search(from: number): Notes | undefined | "none" {
    const { start } = this.#program;
    const { end } = this.#input;
    this.#round = 1;
    let best = this.#follow(start, from, undefined);
    for (let at = from; at < end; ) {
      if (best !== "none" && this.#waiting.length === 0) return best;
      const character = this.#input.characterAt(at);
      at += character & 7;
      const matched = this.#advance(character >> 3, at);
      if (matched !== "none") best = matched;
      else if (best === "none") best = this.#follow(start, at, undefined);
    }
    return best;
  }

  /** Takes a character, behind which the position is `at`. */
  #advance(code: number, at: number): Notes | undefined | "none" {
    const { instructions } = this.#program;
    const waiting = this.#waiting;
    const notes = this.#notes;
    this.#waiting = [];
    this.#notes = [];
    this.#round += 1;
    this.#effort.spend(waiting.length, 1);
    let matched: Notes | undefined | "none" = "none";
    for (let index = 0; index < waiting.length && matched === "none"; index += 1) {
      const instruction = instructions[waiting[index] as number];
      if (instruction?.op !== "set" || !rangesContain(instruction.ranges, code)) continue;
      matched = this.#follow(instruction.next, at, notes[index]);
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
          if (holds(instruction.what, this.#input, at)) pending.push([instruction.next, notes]);
          break;
      }
    }
    return "none";
  }
}

const lineFeed = 10;

function holds(what: AssertKind, input: TextInput, at: number): boolean {
  switch (what) {
    case "beginText":
      return at === input.start;
    case "endText":
      return at === input.end;
    case "beginLine":
      return at === input.start || input.unitAt(at - 1) === lineFeed;
    case "endLine":
      return at === input.end || input.unitAt(at) === lineFeed;
    case "wordBoundary":
      return isWord(input.unitAt(at - 1)) !== isWord(input.unitAt(at));
    case "noWordBoundary":
      return isWord(input.unitAt(at - 1)) === isWord(input.unitAt(at));
  }
}

function isWord(unit: number): boolean {
  return (
    (unit >= 48 && unit <= 57) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 97 && unit <= 122) ||
    unit === 95
  );
}
