/**
 * Parses RE2's syntax, with Go's error messages. There are no back-references and no look-around,
 * so matching is linear. Groups are on an explicit stack, so that no pattern overflows the
 * thread's. The tree is limited by `heightMax`, the program by `instructionCountMax`.
 */

import { foldRanges } from "./case-fold.ts";
import {
  anyCharacter,
  type CharRanges,
  codePointMax,
  negateRanges,
  uniteRanges,
} from "./char-ranges.ts";
import { perlRanges, posixRanges, unicodeRanges } from "./named-ranges.ts";
import {
  alternateTree,
  assertTree,
  captureTree,
  concatTree,
  type ParsedRegex,
  type RegexTree,
  repeatTree,
  setTree,
} from "./regex-tree.ts";

export const instructionCountMax = 100_000;
const heightMax = 1000;
const repeatMax = 1000;

const invalidEscape = "invalid escape sequence";
const invalidNamedCapture = "invalid named capture";
const invalidPerl = "invalid or unsupported Perl syntax";
const invalidRange = "invalid character class range";
const invalidRepeat = "invalid repeat count";

/** What is wrong with a pattern. */
export class RegexSyntaxError extends Error {
  override readonly name = "RegexSyntaxError";

  constructor(what: string, part: string) {
    super(`error parsing regexp: ${what}: \`${part}\``);
  }
}

/** Throws `RegexSyntaxError`. A dot also matches line breaks, unless a flag changes that. */
export function parseRegex(pattern: string): ParsedRegex {
  return new RegexParser(pattern).run();
}

interface Flags {
  readonly foldCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
  readonly lazy: boolean;
}

interface Group {
  /** The number of the capture; undefined for a group that does not capture. */
  readonly index: number | undefined;
  /** The flags to restore after the group. */
  readonly flags: Flags;
  readonly options: RegexTree[];
  parts: RegexTree[];
}

class RegexParser {
  readonly #pattern: string;
  readonly #groupNames: string[] = [""];
  readonly #groups: Group[];
  #group: Group;
  #flags: Flags = { foldCase: false, multiLine: false, dotAll: true, lazy: false };
  #at = 0;
  /** The start of a repetition that was just read. */
  #lastRepeat: number | undefined;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#group = { index: undefined, flags: this.#flags, options: [], parts: [] };
    this.#groups = [this.#group];
  }

  run(): ParsedRegex {
    while (this.#at < this.#pattern.length) {
      const before = this.#at;
      const isRepeat = this.#item();
      this.#lastRepeat = isRepeat ? before : undefined;
    }
    if (this.#groups.length > 1) throw new RegexSyntaxError("missing closing )", this.#pattern);
    return { tree: this.#closeOptions(this.#group), groupNames: this.#groupNames };
  }

  /** Returns whether it was a repetition. */
  #item(): boolean {
    const character = this.#pattern[this.#at];
    switch (character) {
      case "*":
        return this.#repetition(0, Number.POSITIVE_INFINITY, 1);
      case "+":
        return this.#repetition(1, Number.POSITIVE_INFINITY, 1);
      case "?":
        return this.#repetition(0, 1, 1);
      case "{":
        return this.#countedRepetition();
      case "(":
        this.#openGroup();
        return false;
      case ")":
        this.#closeGroup();
        return false;
      case "|":
        this.#at += 1;
        this.#group.options.push(this.#checked(concatTree(this.#group.parts)));
        this.#group.parts = [];
        return false;
      case "[":
        this.#push(setTree(this.#set()));
        return false;
      case "\\":
        this.#escape();
        return false;
      default:
        this.#simple(this.#next());
        return false;
    }
  }

  #simple(code: number): void {
    const { dotAll, multiLine } = this.#flags;
    if (code === 0x5e) this.#push(assertTree(multiLine ? "beginLine" : "beginText"));
    else if (code === 0x24) this.#push(assertTree(multiLine ? "endLine" : "endText"));
    else if (code === 0x2e) this.#push(setTree(dotAll ? anyCharacter : negateRanges([0x0a, 0x0a])));
    else this.#literal(code);
  }

  #literal(code: number): void {
    this.#push(setTree(this.#folded([code, code])));
  }

  #folded = (ranges: CharRanges): CharRanges => {
    return this.#flags.foldCase ? foldRanges(ranges) : ranges;
  };

  #push(tree: RegexTree): void {
    this.#group.parts.push(this.#checked(tree));
  }

  #checked(tree: RegexTree): RegexTree {
    if (tree.size > instructionCountMax) {
      throw new RegexSyntaxError("expression too large", this.#pattern);
    }
    if (tree.height > heightMax) {
      throw new RegexSyntaxError("expression nests too deeply", this.#pattern);
    }
    return tree;
  }

  #repetition(min: number, max: number, length: number): true {
    const start = this.#at;
    this.#at += length;
    const isSwapped = this.#pattern[this.#at] === "?";
    if (isSwapped) this.#at += 1;
    if (this.#lastRepeat !== undefined) {
      const both = this.#pattern.slice(this.#lastRepeat, this.#at);
      throw new RegexSyntaxError("invalid nested repetition operator", both);
    }
    const repeated = this.#pattern.slice(start, this.#at);
    const inner = this.#group.parts.pop();
    if (inner === undefined) {
      throw new RegexSyntaxError("missing argument to repetition operator", repeated);
    }
    const tree = repeatTree(inner, min, max, isSwapped === this.#flags.lazy);
    const isCounted = min >= 2 || (max >= 2 && max !== Number.POSITIVE_INFINITY);
    this.#push(tree);
    if (isCounted && tree.copies > repeatMax) throw new RegexSyntaxError(invalidRepeat, repeated);
    return true;
  }

  /** Braces that are no repetition are literal. */
  #countedRepetition(): boolean {
    const number = "(0|[1-9][0-9]*)";
    const counts = new RegExp(`^\\{${number}(?:(,)${number}?)?\\}`).exec(
      this.#pattern.slice(this.#at, this.#at + 2000),
    );
    if (counts === null) {
      this.#at += 1;
      this.#literal(0x7b);
      return false;
    }
    const [whole, least, comma, most] = counts;
    const min = Number(least);
    const max =
      comma === undefined ? min : most === undefined ? Number.POSITIVE_INFINITY : Number(most);
    const isTooMuch = min > repeatMax || (max > repeatMax && most !== undefined) || min > max;
    if (isTooMuch) throw new RegexSyntaxError(invalidRepeat, whole);
    return this.#repetition(min, max, whole.length);
  }

  #openGroup(): void {
    if (this.#pattern[this.#at + 1] === "?") {
      this.#openSpecialGroup();
      return;
    }
    this.#at += 1;
    this.#groupNames.push("");
    this.#enter(this.#groupNames.length - 1);
  }

  #enter(index: number | undefined): void {
    this.#group = { index, flags: this.#flags, options: [], parts: [] };
    this.#groups.push(this.#group);
    // Bounds the depth of the tree.
    if (this.#groups.length > 2 * heightMax) {
      throw new RegexSyntaxError("expression nests too deeply", this.#pattern);
    }
  }

  /** Parses `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`. */
  #openSpecialGroup(): void {
    const rest = this.#pattern.slice(this.#at);
    const opening = /^\(\?P?</.exec(rest)?.[0];
    if (opening !== undefined && rest.length > opening.length) {
      const end = rest.indexOf(">");
      if (end < 0) throw new RegexSyntaxError(invalidNamedCapture, rest);
      const name = rest.slice(opening.length, end);
      if (!/^[A-Za-z0-9_]+$/.test(name)) {
        throw new RegexSyntaxError(invalidNamedCapture, rest.slice(0, end + 1));
      }
      this.#at += end + 1;
      this.#groupNames.push(name);
      this.#enter(this.#groupNames.length - 1);
      return;
    }
    this.#readFlags();
  }

  #readFlags(): void {
    const start = this.#at;
    let flags = this.#flags;
    let isOn = true;
    let sawFlag = false;
    this.#at += 2;
    while (this.#at < this.#pattern.length) {
      const letter = String.fromCodePoint(this.#next());
      if (letter === ":" || letter === ")") {
        if (!isOn && !sawFlag) break;
        if (letter === ":") this.#enter(undefined);
        this.#flags = flags;
        return;
      }
      if (letter === "-") {
        if (!isOn) break;
        isOn = false;
        sawFlag = false;
        continue;
      }
      const changed = withFlag(flags, letter, isOn);
      if (changed === undefined) break;
      flags = changed;
      sawFlag = true;
    }
    throw new RegexSyntaxError(invalidPerl, this.#pattern.slice(start, this.#at));
  }

  #closeGroup(): void {
    if (this.#groups.length === 1) throw new RegexSyntaxError("unexpected )", this.#pattern);
    this.#at += 1;
    const { index, flags } = this.#group;
    const inner = this.#closeOptions(this.#group);
    this.#groups.pop();
    this.#group = this.#groups.at(-1) as Group;
    this.#flags = flags;
    this.#push(index === undefined ? inner : captureTree(index, inner));
  }

  #closeOptions({ options, parts }: Group): RegexTree {
    return this.#checked(alternateTree([...options, this.#checked(concatTree(parts))]));
  }

  #escape(): void {
    const kind = this.#pattern[this.#at + 1];
    switch (kind) {
      case "A":
        this.#assert("beginText");
        return;
      case "z":
        this.#assert("endText");
        return;
      case "b":
        this.#assert("wordBoundary");
        return;
      case "B":
        this.#assert("noWordBoundary");
        return;
      case "C":
        throw new RegexSyntaxError(invalidEscape, "\\C");
      case "Q":
        this.#quoted();
        return;
      default: {
        const ranges = this.#namedSet();
        if (ranges === undefined) this.#literal(this.#escapedCharacter());
        else this.#push(setTree(ranges));
      }
    }
  }

  #assert(what: Parameters<typeof assertTree>[0]): void {
    this.#at += 2;
    this.#push(assertTree(what));
  }

  /** `\Q…\E`: everything between is literal. */
  #quoted(): void {
    const start = this.#at + 2;
    const found = this.#pattern.indexOf("\\E", start);
    const end = found < 0 ? this.#pattern.length : found;
    this.#at = start;
    while (this.#at < end) this.#literal(this.#next());
    this.#at = found < 0 ? end : end + 2;
  }

  /** Parses `\pL`, `\p{Greek}`, `\d` and the like; undefined when there is none here. */
  #namedSet(): CharRanges | undefined {
    if (this.#pattern[this.#at] !== "\\") return undefined;
    const kind = this.#pattern[this.#at + 1] ?? "";
    if (kind === "p" || kind === "P") return this.#unicodeSet(kind === "P");
    const ranges = perlRanges(kind, this.#folded);
    if (ranges !== undefined) this.#at += 2;
    return ranges;
  }

  #unicodeSet(isCapital: boolean): CharRanges {
    const start = this.#at;
    this.#at += 2;
    let name = "";
    if (this.#pattern[this.#at] === "{") {
      const end = this.#pattern.indexOf("}", this.#at);
      if (end < 0) throw new RegexSyntaxError(invalidRange, this.#pattern.slice(start));
      name = this.#pattern.slice(this.#at + 1, end);
      this.#at = end + 1;
    } else if (this.#at < this.#pattern.length) name = String.fromCodePoint(this.#next());
    const isNegated = name.startsWith("^") !== isCapital;
    const ranges = unicodeRanges(name.startsWith("^") ? name.slice(1) : name);
    if (ranges === undefined) {
      throw new RegexSyntaxError(invalidRange, this.#pattern.slice(start, this.#at));
    }
    const folded = this.#folded(ranges);
    return isNegated ? negateRanges(folded) : folded;
  }

  /** Parses `[…]`. */
  #set(): CharRanges {
    const start = this.#at;
    this.#at += 1;
    const isNegated = this.#pattern[this.#at] === "^";
    if (isNegated) this.#at += 1;
    const sets: CharRanges[] = [];
    // A bracket in first place is literal.
    for (let isFirst = true; isFirst || this.#pattern[this.#at] !== "]"; isFirst = false) {
      sets.push(this.#posixSet() ?? this.#namedSet() ?? this.#range(start));
    }
    this.#at += 1;
    const ranges = uniteRanges(sets);
    return isNegated ? negateRanges(ranges) : ranges;
  }

  /** Parses `[:alpha:]`; undefined when there is none here. */
  #posixSet(): CharRanges | undefined {
    if (!this.#pattern.startsWith("[:", this.#at)) return undefined;
    const end = this.#pattern.indexOf(":]", this.#at + 2);
    if (end < 0) return undefined;
    const name = this.#pattern.slice(this.#at + 2, end);
    const ranges = posixRanges(name, this.#folded);
    if (ranges === undefined) throw new RegexSyntaxError(invalidRange, `[:${name}:]`);
    this.#at = end + 2;
    return ranges;
  }

  #range(setStart: number): CharRanges {
    const start = this.#at;
    const first = this.#setCharacter(setStart);
    let last = first;
    const next = this.#pattern[this.#at + 1];
    if (this.#pattern[this.#at] === "-" && next !== undefined && next !== "]") {
      this.#at += 1;
      last = this.#setCharacter(setStart);
      if (last < first) {
        throw new RegexSyntaxError(invalidRange, this.#pattern.slice(start, this.#at));
      }
    }
    return this.#folded([first, last]);
  }

  #setCharacter(setStart: number): number {
    if (this.#at >= this.#pattern.length) {
      throw new RegexSyntaxError("missing closing ]", this.#pattern.slice(setStart));
    }
    return this.#pattern[this.#at] === "\\" ? this.#escapedCharacter() : this.#next();
  }

  #escapedCharacter(): number {
    const start = this.#at;
    this.#at += 1;
    if (this.#at >= this.#pattern.length) {
      throw new RegexSyntaxError("trailing backslash at end of expression", "");
    }
    const code = this.#next();
    const character = String.fromCodePoint(code);
    const simple = simpleEscapes.get(character);
    if (simple !== undefined) return simple;
    if (code < 0x80 && !/[A-Za-z0-9]/.test(character)) return code;
    const value = character === "x" ? this.#hexadecimal() : this.#octal(character);
    if (value !== undefined) return value;
    throw new RegexSyntaxError(invalidEscape, this.#pattern.slice(start, this.#at));
  }

  /** A single digit other than 0 would be a back-reference. */
  #octal(first: string): number | undefined {
    if (!/[0-7]/.test(first)) return undefined;
    const more = /^[0-7]{0,2}/.exec(this.#pattern.slice(this.#at, this.#at + 2))?.[0] ?? "";
    if (first !== "0" && more === "") return undefined;
    this.#at += more.length;
    return Number.parseInt(first + more, 8);
  }

  /**
   * After `\x`: two digits, or any number in braces. Invalid digits are read, too, for the message.
   */
  #hexadecimal(): number | undefined {
    if (this.#at >= this.#pattern.length) return undefined;
    const first = this.#next();
    if (first !== 0x7b) {
      const high = hexDigit(first);
      if (this.#at >= this.#pattern.length) return undefined;
      const low = hexDigit(this.#next());
      return high === undefined || low === undefined ? undefined : high * 16 + low;
    }
    let value = 0;
    for (let count = 0; this.#at < this.#pattern.length; count += 1) {
      const code = this.#next();
      if (code === 0x7d) return count === 0 ? undefined : value;
      const digit = hexDigit(code);
      if (digit === undefined) return undefined;
      value = value * 16 + digit;
      if (value > codePointMax) return undefined;
    }
    return undefined;
  }

  #next(): number {
    const code = this.#pattern.codePointAt(this.#at) as number;
    // Literal texts, which are only compared, may contain lone surrogates.
    if (code >= 0xd800 && code <= 0xdfff && special.test(this.#pattern)) {
      const rest = this.#pattern.slice(this.#at).toWellFormed();
      throw new RegexSyntaxError("invalid UTF-8", rest);
    }
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }
}

/** A pattern without these is a list of literal texts separated by bars. */
const special = /[.+*?()[\]{}^$\\]/;

const simpleEscapes: ReadonlyMap<string, number> = new Map([
  ["a", 0x07],
  ["f", 0x0c],
  ["n", 0x0a],
  ["r", 0x0d],
  ["t", 0x09],
  ["v", 0x0b],
]);

function withFlag(flags: Flags, letter: string, isOn: boolean): Flags | undefined {
  if (letter === "i") return { ...flags, foldCase: isOn };
  if (letter === "m") return { ...flags, multiLine: isOn };
  if (letter === "s") return { ...flags, dotAll: isOn };
  if (letter === "U") return { ...flags, lazy: isOn };
  return undefined;
}

function hexDigit(code: number): number | undefined {
  const character = String.fromCodePoint(code);
  return /^[0-9a-fA-F]$/.test(character) ? Number.parseInt(character, 16) : undefined;
}
