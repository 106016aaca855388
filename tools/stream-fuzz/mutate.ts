/** Mutants of statements, token by token: most of them still look like the dialect. */
import type { Prng } from "../../src/ground/kernel/prng.ts";

const tokenForm =
  /--[^\n]*|'(?:[^'\\]|\\.|'')*'|"[^"]*"|`[^`]*`|[\p{L}_][\p{L}\p{N}_$]*|\d[\w.]*|<=>|<=|>=|==|!=|<>|<<|>>|\|\||::|\S/gu;

export function tokensOf(text: string): readonly string[] {
  return text.match(tokenForm) ?? [];
}

/** What a token is replaced by, besides the tokens of other statements. */
const odd = [
  ...[
    "",
    " ",
    "\n",
    "\u0000",
    "\ud800",
    "😀",
    "é",
    "'",
    '"',
    "`",
    "\\",
    "--",
    "/*",
    "*/",
    ";",
    "$",
  ],
  ...["18446744073709551616", "-9223372036854775808", "1e400", "0x", "0xffffffffffffffff", ".5"],
  ...["1.", "1e", "9".repeat(400), "NULL", "TRUE", "''", "'\\", "((", "))", ",", ".", "*", "::"],
  ...["NaN", "INTO", "SELECT", "FROM", "WHERE", "JOIN", "ON", "WINDOW", "GROUP", "BY", "OVER"],
  ...["UNION", "WITH", "AS", "NOT", "IS", "LIKE", "IN", "BETWEEN", "CASE", "END", "QUALIFY"],
  ...["SET", "SCHEMA", "STATE", "TTL", "0 SEC", "1 MS", "99999999999 DAY", "ORDER", "DISTINCT"],
  ...["start", "end", "COUNT(*)", "ROW_NUMBER()", "LAG(1)", "__proto__", "constructor", "toString"],
];

/** One mutant; `others` gives tokens to replace and splice with. */
export function mutate(tokens: readonly string[], others: readonly string[], prng: Prng): string {
  const mutant = [...tokens];
  for (let left = prng.below(4); left > 0; left -= 1) mutateOnce(mutant, others, prng);
  return mutant.join(prng.below(16) === 0 ? "" : " ");
}

function mutateOnce(tokens: string[], others: readonly string[], prng: Prng): void {
  const at = prng.below(tokens.length + 1);
  const other = (): string => others[prng.below(others.length)] ?? "";
  switch (prng.below(12)) {
    case 0:
      tokens.splice(at, 1);
      return;
    case 1:
      tokens.splice(at, 0, tokens[at] ?? "");
      return;
    case 2: {
      const to = prng.below(tokens.length + 1);
      const [moved = ""] = tokens.splice(at, 1);
      tokens.splice(to, 0, moved);
      return;
    }
    case 3:
      tokens[at] = odd[prng.below(odd.length)] ?? "";
      return;
    case 4:
      tokens.splice(at, 0, odd[prng.below(odd.length)] ?? "");
      return;
    case 5: {
      const from = prng.below(others.length);
      tokens.splice(at, prng.below(6), ...others.slice(from, from + prng.below(12)));
      return;
    }
    case 6: {
      const piece = tokens.slice(at, at + 1 + prng.below(8));
      const times = prng.below(40) === 0 ? 300 : 1 + prng.below(4);
      tokens.splice(at, 0, ...Array.from({ length: times }, () => piece).flat());
      return;
    }
    case 7: {
      const depth = prng.below(40) === 0 ? 250 : 1 + prng.below(3);
      tokens.splice(at, 1, "(".repeat(depth), tokens[at] ?? "", ")".repeat(depth));
      return;
    }
    case 8:
      tokens.length = at;
      return;
    case 9: {
      const token = tokens[at] ?? "";
      const cut = prng.below(token.length + 1);
      const code = String.fromCharCode(prng.below(prng.below(4) === 0 ? 65_536 : 128));
      tokens[at] = token.slice(0, cut) + code + token.slice(cut + prng.below(2));
      return;
    }
    default:
      tokens[at] = other();
  }
}
