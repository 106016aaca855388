/**
 * Tests whether a whole text matches, or whether a match occurs in it, with one table look-up per
 * character. States are sets of instructions, created on demand.
 *
 * Characters that no instruction distinguishes share a class; a state has one transition per class.
 * When the table exceeds `cellCountMax` it is cleared. Only creating states counts as effort.
 * Programs with assertions about neighbours (`\b`, `(?m)^`, `(?m)$`) are not supported.
 */
import { codePointMax, rangesContain } from "./char-ranges.ts";
import type { Effort } from "./effort.ts";
import type { Program } from "./program.ts";
import { characterOf } from "./text-input.ts";

const cellCountMax = 1 << 18;
const unknown = -1;
/** The state without a way out. */
const dead = 0;
/** Of a search: the state behind a match. */
const found = 1;

export class LazyAutomaton {
  readonly #program: Program;
  /** First code points of the classes, ascending. */
  readonly #bounds: Int32Array;
  readonly #asciiClasses = new Uint16Array(128);
  readonly #classCount: number;
  /** Indexed by state and class. */
  #cells = new Int32Array(0);
  #states: { readonly members: readonly number[]; readonly accepts: boolean }[] = [];
  #stateByKey = new Map<string, number>();
  /** The members of all states: the size of the table besides its cells. */
  #memberCount = 0;
  #start: number;
  readonly #reached: Uint32Array;
  #round = 0;
  readonly #effort: Effort;
  readonly #isSearch: boolean;

  static supports({ instructions }: Program): boolean {
    return instructions.every(
      (instruction) =>
        instruction.op !== "assert" ||
        instruction.what === "beginText" ||
        instruction.what === "endText",
    );
  }

  /** A search begins anew at each character. */
  constructor(program: Program, effort: Effort, isSearch = false) {
    this.#program = program;
    this.#isSearch = isSearch;
    this.#effort = effort;
    this.#bounds = classBounds(program);
    this.#classCount = this.#bounds.length;
    for (let code = 0; code < 128; code += 1) this.#asciiClasses[code] = this.#search(code);
    this.#reached = new Uint32Array(program.instructions.length);
    this.#start = this.#reset();
  }

  /** The text must not be empty. One long function for speed: it runs for every label value. */
  test(text: string): boolean {
    const classCount = this.#classCount;
    const asciiClasses = this.#asciiClasses;
    let state = this.#start;
    for (let at = 0; at < text.length; at += 1) {
      let code = text.charCodeAt(at);
      let charClass: number;
      if (code < 128) charClass = asciiClasses[code] as number;
      else {
        code = text.codePointAt(at) as number;
        if (code > 0xffff) at += 1;
        charClass = this.#search(code);
      }
      let next = this.#cells[state * classCount + charClass] as number;
      if (next === unknown) next = this.#advance(state, charClass);
      if (next === dead) return false;
      state = next;
    }
    return this.#states[state]?.accepts ?? false;
  }

  /** Whether a match occurs in the bytes `start .. end`, which are not empty. For searches. */
  occursIn(bytes: Uint8Array, start: number, end: number): boolean {
    const classCount = this.#classCount;
    const asciiClasses = this.#asciiClasses;
    let state = this.#start;
    for (let at = start; at < end && state > found; ) {
      const byte = bytes[at] as number;
      let charClass: number;
      if (byte < 128) {
        charClass = asciiClasses[byte] as number;
        at += 1;
      } else {
        const character = characterOf(bytes, at, end);
        charClass = this.#search(character >> 3);
        at += character & 7;
      }
      const next = this.#cells[state * classCount + charClass] as number;
      state = next === unknown ? this.#advance(state, charClass) : next;
    }
    return this.#states[state]?.accepts ?? false;
  }

  /** Clears the table and returns the initial state. */
  #reset(): number {
    this.#cells = new Int32Array(64 * this.#classCount).fill(unknown);
    this.#states = [];
    this.#stateByKey = new Map();
    this.#memberCount = 0;
    this.#intern([]);
    if (this.#isSearch) this.#states.push({ members: [], accepts: true });
    this.#round += 1;
    const members: number[] = [];
    const matches = this.#follow(this.#program.start, true, false, members);
    this.#start = matches && this.#isSearch ? found : this.#intern(members);
    return this.#start;
  }

  #advance(state: number, charClass: number): number {
    const { instructions } = this.#program;
    const code = this.#bounds[charClass] as number;
    const members: number[] = [];
    this.#round += 1;
    let matches = false;
    for (const member of this.#states[state]?.members ?? []) {
      const instruction = instructions[member];
      if (instruction?.op === "set" && rangesContain(instruction.ranges, code)) {
        if (this.#follow(instruction.next, false, false, members)) matches = true;
      }
    }
    if (this.#isSearch) {
      if (matches || this.#follow(this.#program.start, false, false, members)) {
        this.#cells[state * this.#classCount + charClass] = found;
        return found;
      }
    }
    // Sorting and naming the state costs several times what following did.
    this.#effort.spend(4 * members.length, 1);
    const isFull =
      this.#states.length * this.#classCount + this.#memberCount + members.length > cellCountMax;
    if (!isFull || this.#states.length < (this.#isSearch ? 4 : 3)) {
      const next = this.#intern(members);
      this.#cells[state * this.#classCount + charClass] = next;
      return next;
    }
    // The table was cleared, so this transition is not kept.
    this.#reset();
    return this.#intern(members);
  }

  #intern(members: number[]): number {
    members.sort((a, b) => a - b);
    const key = members.join();
    const existing = this.#stateByKey.get(key);
    if (existing !== undefined) return existing;
    const state = this.#states.length;
    this.#states.push({ members, accepts: this.#acceptsAtEnd(members) });
    this.#stateByKey.set(key, state);
    this.#memberCount += members.length;
    const cellCount = (state + 1) * this.#classCount;
    if (cellCount > this.#cells.length) {
      const larger = new Int32Array(2 * cellCount).fill(unknown);
      larger.set(this.#cells);
      this.#cells = larger;
    }
    return state;
  }

  #acceptsAtEnd(members: readonly number[]): boolean {
    const { instructions } = this.#program;
    this.#round += 1;
    return members.some((member) => {
      const instruction = instructions[member];
      if (instruction?.op !== "assert") return false;
      return this.#follow(instruction.next, false, true, []);
    });
  }

  /**
   * Adds instructions that wait for a character or the end to `members`. Returns whether the match
   * is reachable; where the whole text has to match, that is only after the end.
   */
  #follow(from: number, atBegin: boolean, atEnd: boolean, members: number[]): boolean {
    const { instructions } = this.#program;
    const pending = [from];
    let doesMatch = false;
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (this.#reached[index] === this.#round) continue;
      this.#reached[index] = this.#round;
      const instruction = instructions[index];
      switch (instruction?.op) {
        case "match":
          doesMatch = true;
          break;
        case "set":
          members.push(index);
          break;
        case "split":
          pending.push(instruction.other, instruction.next);
          break;
        case "save":
          pending.push(instruction.next);
          break;
        case "assert":
          if (instruction.what === "beginText" ? atBegin : atEnd) pending.push(instruction.next);
          else if (instruction.what === "endText") members.push(index);
          break;
      }
    }
    return doesMatch;
  }

  #search(code: number): number {
    const bounds = this.#bounds;
    let low = 0;
    let high = bounds.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((bounds[middle] as number) <= code) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

function classBounds({ instructions }: Program): Int32Array {
  const bounds = new Set([0]);
  for (const instruction of instructions) {
    if (instruction.op !== "set") continue;
    for (const [index, code] of instruction.ranges.entries()) {
      bounds.add(index % 2 === 0 ? code : code + 1);
    }
  }
  bounds.delete(codePointMax + 1);
  return Int32Array.from(bounds).sort();
}
