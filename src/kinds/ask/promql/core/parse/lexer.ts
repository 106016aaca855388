/**
 * Splits text into tokens, completely before the parser runs. The last token is EOF, or ERROR with
 * its message.
 *
 * A token's position is that of its first character, except that some errors about a bracket or
 * colon are after it, like in Prometheus. The meaning of a word depends on the brackets around it:
 * braces contain no keywords, square brackets no names.
 */
import { describeCharacter, quoteCharacter, quoteText } from "../print/quote.ts";
import type { Source } from "./source.ts";
import { durationWords, fillWords, keywords, type Token } from "./token.ts";

const single: ReadonlySet<string> = new Set([",", "*", "/", "%", "+", "-", "^", "@"]);
/** In square brackets, before the first number, these are tokens of their own. */
const durationSingle: ReadonlySet<string> = new Set([",", "*", "/", "%", "+", "-", "^"]);

type Mode = "statements" | "braces" | "duration";

export function lex(source: Source): Token[] {
  return new Lexer(source).run();
}

class Lexer {
  readonly #source: Source;
  readonly #text: string;
  readonly #tokens: Token[] = [];
  #mode: Mode = "statements";
  #start = 0;
  #at = 0;
  #parenDepth = 0;
  #bracketOpen = false;
  #gotColon = false;
  /** Never reset: a number in earlier brackets counts, too. */
  #gotDuration = false;
  #done = false;

  constructor(source: Source) {
    this.#source = source;
    this.#text = source.text;
  }

  run(): Token[] {
    while (!this.#done) {
      this.#start = this.#at;
      if (this.#mode === "braces") this.#insideBraces();
      else if (this.#mode === "duration") this.#insideDuration();
      else this.#statement();
    }
    return this.#tokens;
  }

  #statement(): void {
    const character = this.#next();
    switch (character) {
      case undefined:
        if (this.#parenDepth !== 0) this.#fail("unclosed left parenthesis");
        else if (this.#bracketOpen) this.#fail("unclosed left bracket");
        else this.#emit("EOF");
        return;
      case "#":
        this.#skipComment();
        return;
      case "=":
        this.#equals();
        return;
      case "!":
        this.#exclamation();
        return;
      case "<":
      case ">":
        if (this.#accept("=") || this.#accept("/")) this.#emit(this.#read());
        else this.#emit(character);
        return;
      case "(":
      case ")":
        this.#parenthesis(character);
        return;
      case "{":
        this.#emit("{");
        this.#mode = "braces";
        return;
      case "[":
        this.#openBracket();
        return;
      case "]":
        if (this.#bracketOpen) this.#closeBracket();
        else this.#fail(`unexpected right bracket ${quoteCharacter(character)}`);
        return;
      default:
        if (isSpace(character)) return;
        if (single.has(character)) this.#emit(character);
        else if (isQuote(character)) this.#string(character);
        else if (this.#startsNumber(character)) this.#numberOrDuration();
        else if (isAlpha(character) || character === ":") this.#word(character);
        else this.#fail(`unexpected character: ${quoteCharacter(character)}`);
    }
  }

  #insideBraces(): void {
    const character = this.#next();
    switch (character) {
      case undefined:
        this.#fail("unexpected end of input inside braces");
        return;
      case "#":
        this.#skipComment();
        return;
      case ",":
        this.#emit(",");
        return;
      case "=":
        this.#emit(this.#accept("~") ? "=~" : "=");
        return;
      case "!": {
        if (this.#accept("~") || this.#accept("=")) this.#emit(this.#read());
        else {
          const next = quoteCharacter(this.#next());
          this.#fail(`unexpected character after '!' inside braces: ${next}`);
        }
        return;
      }
      case "{":
        this.#fail(`unexpected left brace ${quoteCharacter(character)}`);
        return;
      case "}":
        this.#emit("}");
        this.#mode = "statements";
        return;
      default:
        if (isSpace(character)) return;
        if (isQuote(character)) this.#string(character);
        else if (isAlpha(character)) this.#identifier();
        else this.#fail(`unexpected character inside braces: ${quoteCharacter(character)}`);
    }
  }

  /** Square brackets, up to and including the first number. After it the usual rules apply. */
  #insideDuration(): void {
    const character = this.#next();
    switch (character) {
      case undefined:
        this.#fail("unexpected end of input in duration expression");
        return;
      case "]":
        this.#closeBracket();
        this.#gotColon = false;
        return;
      case ":":
        if (!this.#gotDuration) {
          this.#failBehind("unexpected colon before duration in duration expression");
        } else if (this.#gotColon) {
          this.#failBehind("unexpected repeated colon in duration expression");
        } else {
          this.#emit(":");
          this.#gotColon = true;
        }
        return;
      case "(":
      case ")":
        this.#parenthesis(character);
        return;
      default:
        if (isSpace(character)) return;
        if (durationSingle.has(character)) this.#emit(character);
        else if (this.#startsNumber(character)) {
          this.#gotDuration = true;
          this.#mode = "statements";
          this.#numberOrDuration();
        } else if (!this.#durationWord(character)) {
          const shown = quoteCharacter(character);
          this.#fail(`unexpected character in duration expression: ${shown}`);
        }
    }
  }

  #equals(): void {
    if (this.#accept("=")) this.#emit("==");
    else if (this.#peek() === "~") {
      this.#fail(`unexpected character after '=': ${quoteCharacter("~")}`);
    } else this.#emit("=");
  }

  #exclamation(): void {
    const next = this.#next();
    if (next === "=") this.#emit("!=");
    else this.#fail(`unexpected character after '!': ${quoteCharacter(next)}`);
  }

  #parenthesis(character: "(" | ")"): void {
    this.#parenDepth += character === "(" ? 1 : -1;
    if (this.#parenDepth < 0)
      this.#failBehind(`unexpected right parenthesis ${quoteCharacter(")")}`);
    else this.#emit(character);
  }

  #openBracket(): void {
    if (this.#bracketOpen) {
      this.#fail(`unexpected left bracket ${quoteCharacter("[")}`);
      return;
    }
    this.#emit("[");
    this.#gotColon = false;
    this.#bracketOpen = true;
    this.#mode = "duration";
  }

  #closeBracket(): void {
    this.#emit("]");
    this.#bracketOpen = false;
    this.#mode = "statements";
  }

  #word(character: string): void {
    if (!this.#bracketOpen) {
      this.#keywordOrName();
      return;
    }
    if (character === ":") {
      if (this.#gotColon) this.#fail(`unexpected colon ${quoteCharacter(":")}`);
      else this.#emit(":");
      this.#gotColon = true;
    } else if (!this.#durationWord(character)) {
      this.#fail(`unexpected character: ${quoteCharacter(character)}, expected ':'`);
    }
  }

  /** Reads a duration keyword, and returns whether there was one. */
  #durationWord(character: string): boolean {
    if (!/[srm]/i.test(character)) return false;
    while (isAlpha(this.#peek())) this.#at += 1;
    const word = this.#read().toLowerCase();
    if (!durationWords.has(word)) return false;
    this.#emit(word);
    return true;
  }

  #identifier(): void {
    while (isAlphanumeric(this.#peek())) this.#at += 1;
    this.#emit("IDENTIFIER");
  }

  #keywordOrName(): void {
    while (isAlphanumeric(this.#peek()) || this.#peek() === ":") this.#at += 1;
    const word = this.#read().toLowerCase();
    if (word === "inf" || word === "nan") this.#emit("NUMBER");
    else if (fillWords.has(word)) this.#emit(this.#parenthesisFollows() ? word : "IDENTIFIER");
    else if (keywords.has(word)) this.#emit(word);
    else this.#emit(word.includes(":") ? "METRIC_IDENTIFIER" : "IDENTIFIER");
  }

  /** `fill` and similar words were metric names before they became modifiers. */
  #parenthesisFollows(): boolean {
    let at = this.#at;
    while (isSpace(this.#text[at])) at += 1;
    return this.#text[at] === "(";
  }

  #startsNumber(character: string): boolean {
    return isDigit(character) || (character === "." && isDigit(this.#peek()));
  }

  #numberOrDuration(): void {
    this.#at = this.#start;
    if (this.#scanNumber()) this.#emit("NUMBER");
    else if (this.#scanDuration()) this.#emit("DURATION");
    else this.#fail(`bad number or duration syntax: ${quoteText(this.#read())}`);
  }

  /** Reads a possible number; its value is checked later. On `false`, something may be consumed. */
  #scanNumber(): boolean {
    let digits = "0123456789";
    if (this.#acceptAny("0") && this.#acceptAny("xX")) {
      this.#acceptAny("_");
      digits = "0123456789abcdefABCDEF";
    }
    this.#acceptAny(".");
    this.#acceptAny(digits);
    let hadDot = false;
    let hadExponent = false;
    while (this.#isAny(`${digits}._eE`)) {
      if (this.#acceptAny(".")) {
        // At most one dot, and none in a hexadecimal number.
        if (hadDot || this.#acceptAny("_.") || digits.length > 10) return false;
        hadDot = true;
      } else if (this.#acceptAny("eE")) {
        if (hadExponent) return false;
        hadExponent = true;
        this.#acceptAny("+-");
        if (this.#acceptAny("._eE") || this.#peek() === undefined) return false;
      } else if (this.#acceptAny("_")) {
        if (this.#acceptAny("._eE") || this.#peek() === undefined) return false;
      } else {
        while (this.#acceptAny(digits));
      }
    }
    return !isAlphanumeric(this.#peek());
  }

  /** Continues after a number. The units are checked later. */
  #scanDuration(): boolean {
    if (!this.#acceptAny("smhdwy")) return false;
    this.#acceptAny("s");
    while (this.#acceptAny("0123456789")) {
      while (this.#acceptAny("0123456789"));
      // Years must come first.
      if (!this.#acceptAny("smhdw")) return false;
      this.#acceptAny("s");
    }
    if (!isAlphanumeric(this.#peek())) return true;
    this.#at += 1;
    return false;
  }

  #string(quote: string): void {
    for (;;) {
      const character = this.#next();
      if (character === quote) {
        this.#emit("STRING");
        return;
      }
      const wrong = this.#wrongInString(quote, character);
      if (wrong !== undefined) {
        this.#fail(wrong);
        return;
      }
    }
  }

  #wrongInString(quote: string, character: string | undefined): string | undefined {
    if (character === "\ufffd" || (character !== undefined && isLoneSurrogate(character))) {
      return "invalid UTF-8 rune";
    }
    if (quote === "`") return character === undefined ? "unterminated raw string" : undefined;
    if (character === undefined || character === "\n") return "unterminated quoted string";
    return character === "\\" ? this.#wrongInEscape(quote) : undefined;
  }

  #wrongInEscape(quote: string): string | undefined {
    const kind = this.#next();
    if (kind === undefined) return "escape sequence not terminated";
    if (kind === quote || "abfnrtv\\".includes(kind)) return undefined;
    if (kind >= "0" && kind <= "7") {
      this.#at -= 1;
      return this.#wrongDigits(3, 8, 255);
    }
    if (kind === "x") return this.#wrongDigits(2, 16, 255);
    if (kind === "u") return this.#wrongDigits(4, 16, 0x10ffff);
    if (kind === "U") return this.#wrongDigits(8, 16, 0x10ffff);
    return `unknown escape sequence ${describeCharacter(kind)}`;
  }

  #wrongDigits(count: number, base: number, valueMax: number): string | undefined {
    let value = 0;
    for (let digit = 0; digit < count; digit += 1) {
      const character = this.#next();
      if (character === undefined) return "escape sequence not terminated";
      const amount = /[0-9a-fA-F]/.test(character) ? Number.parseInt(character, 16) : base;
      if (amount >= base) {
        return `illegal character ${describeCharacter(character)} in escape sequence`;
      }
      value = value * base + amount;
    }
    return value > valueMax || (value >= 0xd800 && value < 0xe000)
      ? "escape sequence is an invalid Unicode code point"
      : undefined;
  }

  #skipComment(): void {
    for (let next = this.#peek(); next !== undefined && next !== "\n" && next !== "\r"; ) {
      this.#at += 1;
      next = this.#peek();
    }
  }

  /** A whole character, or undefined at the end. */
  #next(): string | undefined {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return undefined;
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  /** One UTF-16 unit: enough to recognise ASCII characters. */
  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }

  #isAny(characters: string): boolean {
    const next = this.#peek();
    return next !== undefined && characters.includes(next);
  }

  #acceptAny(characters: string): boolean {
    if (!this.#isAny(characters)) return false;
    this.#at += 1;
    return true;
  }

  #read(): string {
    return this.#text.slice(this.#start, this.#at);
  }

  #emit(type: string): void {
    const source = this.#source;
    this.#tokens.push({
      type,
      text: this.#read(),
      start: source.byteAt(this.#start),
      end: source.byteAt(this.#at),
    });
    if (type === "EOF") this.#done = true;
  }

  #fail(message: string): void {
    const source = this.#source;
    const end = source.byteAt(this.#text.length);
    this.#tokens.push({ type: "ERROR", text: message, start: source.byteAt(this.#start), end });
    this.#done = true;
  }

  #failBehind(message: string): void {
    this.#start = this.#at;
    this.#fail(message);
  }
}

export function isSpace(character: string | undefined): boolean {
  return character === " " || character === "\t" || character === "\n" || character === "\r";
}

function isQuote(character: string): boolean {
  return character === '"' || character === "'" || character === "`";
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function isAlpha(character: string | undefined): boolean {
  return (
    character !== undefined &&
    ((character >= "a" && character <= "z") ||
      (character >= "A" && character <= "Z") ||
      character === "_")
  );
}

function isAlphanumeric(character: string | undefined): boolean {
  return isAlpha(character) || isDigit(character);
}

function isLoneSurrogate(character: string): boolean {
  return character.length === 1 && character >= "\ud800" && character <= "\udfff";
}
