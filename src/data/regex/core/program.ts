/**
 * A regular expression as instructions for a machine that follows all alternatives at once.
 * Instruction 0 is the match. It follows an assertion of the text's end where the whole text has to
 * match.
 */
import type { CharRanges } from "./char-ranges.ts";
import type { AssertKind, RegexTree } from "./regex-tree.ts";

export type Instruction =
  | { readonly op: "match" }
  | { readonly op: "set"; readonly ranges: CharRanges; readonly next: number }
  | { readonly op: "assert"; readonly what: AssertKind; readonly next: number }
  /** Saves where a group begins (even slots) or ends. */
  | { readonly op: "save"; readonly slot: number; readonly next: number }
  /** Follows both; the first one is preferred. */
  | { readonly op: "split"; readonly next: number; readonly other: number };

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  readonly groupCount: number;
}

export function compileProgram(tree: RegexTree, groupCount: number): Program {
  const emitter = new Emitter();
  const match = emitter.add({ op: "match" });
  const end = emitter.add({ op: "assert", what: "endText", next: match });
  return { start: emitter.emit(tree, end), instructions: emitter.instructions, groupCount };
}

/** A program that matches a part of the text, and saves its bounds as group 0. */
export function compileSearchProgram(tree: RegexTree, groupCount: number): Program {
  const emitter = new Emitter();
  const match = emitter.add({ op: "match" });
  const end = emitter.add({ op: "save", slot: 1, next: match });
  const start = emitter.add({ op: "save", slot: 0, next: emitter.emit(tree, end) });
  return { start, instructions: emitter.instructions, groupCount };
}

/** Emits backwards, because an instruction refers to its successor. */
class Emitter {
  readonly instructions: Instruction[] = [];

  add(instruction: Instruction): number {
    this.instructions.push(instruction);
    return this.instructions.length - 1;
  }

  emit(tree: RegexTree, next: number): number {
    switch (tree.kind) {
      case "empty":
        return next;
      case "set":
        return this.add({ op: "set", ranges: tree.ranges, next });
      case "assert":
        return this.add({ op: "assert", what: tree.what, next });
      case "capture": {
        const end = this.add({ op: "save", slot: 2 * tree.index + 1, next });
        const inner = this.emit(tree.inner, end);
        return this.add({ op: "save", slot: 2 * tree.index, next: inner });
      }
      case "concat": {
        let at = next;
        for (const part of tree.parts.toReversed()) at = this.emit(part, at);
        return at;
      }
      case "alternate": {
        const [last, ...others] = tree.options.map((option) => this.emit(option, next)).reverse();
        let at = last ?? next;
        for (const option of others) at = this.add({ op: "split", next: option, other: at });
        return at;
      }
      case "repeat":
        return this.#repeat(tree, next);
    }
  }

  /** `x{2,4}` is `xx(x(x)?)?`, and `x{2,}` is `xx+`. */
  #repeat(tree: RegexTree & { readonly kind: "repeat" }, next: number): number {
    const { inner, min, max, greedy } = tree;
    let at = next;
    let copies = min;
    if (max !== Number.POSITIVE_INFINITY) {
      for (let count = min; count < max; count += 1) {
        at = this.#split(this.emit(inner, at), next, greedy);
      }
    } else if (min === 0) {
      at = this.#star(inner, next, greedy);
    } else {
      at = this.#plus(inner, next, greedy);
      copies -= 1;
    }
    for (let count = 0; count < copies; count += 1) at = this.emit(inner, at);
    return at;
  }

  /** An operand that can be empty is tried once first, as a backtracking matcher would. */
  #star(inner: RegexTree, next: number, greedy: boolean): number {
    if (isNullable(inner)) return this.#split(this.#plus(inner, next, greedy), next, greedy);
    const loop = this.add({ op: "match" });
    const body = this.emit(inner, loop);
    this.instructions[loop] = splitOf(body, next, greedy);
    return loop;
  }

  #plus(inner: RegexTree, next: number, greedy: boolean): number {
    const loop = this.add({ op: "match" });
    const body = this.emit(inner, loop);
    this.instructions[loop] = splitOf(body, next, greedy);
    return body;
  }

  #split(body: number, next: number, greedy: boolean): number {
    return this.add(splitOf(body, next, greedy));
  }
}

function splitOf(body: number, next: number, greedy: boolean): Instruction {
  return greedy ? { op: "split", next: body, other: next } : { op: "split", next, other: body };
}

function isNullable(tree: RegexTree): boolean {
  switch (tree.kind) {
    case "empty":
    case "assert":
      return true;
    case "set":
      return false;
    case "capture":
      return isNullable(tree.inner);
    case "repeat":
      return tree.min === 0 || isNullable(tree.inner);
    case "concat":
      return tree.parts.every(isNullable);
    case "alternate":
      return tree.options.some(isNullable);
  }
}
