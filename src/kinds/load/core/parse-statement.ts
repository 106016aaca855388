/**
 * Parses a statement with `:name` parameters. Quotes, comments and casts (`::`) stay as they are.
 */
import { type LexicalRules, scanTokens } from "../../../data/sql/core/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";

export interface NamedStatement {
  /** One text more than names. */
  readonly texts: readonly string[];
  readonly names: readonly string[];
}

/** Lexical rules that suit all targets: comments do not nest in most, and MySQL has backticks. */
const targetRules: LexicalRules = { commentsNest: false, backticks: true };

/** Throws `bad_request` for more than one statement, or for an unterminated quote. */
export function parseNamedStatement(sql: string): NamedStatement {
  const { tokens, unfinished } = scanTokens(sql, targetRules);
  if (unfinished !== undefined) throw bad(`${unfinished.closing} is not closed`);
  const semicolon = tokens.findIndex(({ text }) => text === ";");
  if (semicolon >= 0 && semicolon < tokens.length - 1) {
    throw bad("one text has one statement; this has more");
  }
  const texts: string[] = [];
  const names: string[] = [];
  let from = 0;
  for (const [index, { text, position }] of tokens.entries()) {
    const name = text === ":" ? tokens[index + 1] : undefined;
    if (name?.position !== position + 1 || !/^[a-z_]\w*$/i.test(name.text)) continue;
    texts.push(sql.slice(from, position));
    names.push(name.text);
    from = position + 1 + name.text.length;
  }
  texts.push(sql.slice(from, tokens[semicolon]?.position));
  return { texts, names };
}

function bad(message: string): OperatingError {
  return new OperatingError("bad_request", "never", message);
}
