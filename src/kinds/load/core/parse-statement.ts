/** A statement as people write it, `:name` for a parameter, taken apart. Quotes, comments and casts (`::`) are left alone. */
import { OperatingError } from "../../../ground/kernel/errors.ts";

export interface NamedStatement {
  /** One more than names. */
  readonly texts: readonly string[];
  readonly names: readonly string[];
}

/** One statement; throws `bad_request` for more, or for a quote that does not end. */
export function parseNamedStatement(sql: string): NamedStatement {
  const texts: string[] = [];
  const names: string[] = [];
  let from = 0;
  let at = 0;
  let end = sql.length;
  while (at < sql.length) {
    const skipped = skip(sql, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const name = /^:([a-z_][a-z0-9_]*)/i.exec(sql.slice(at, at + 65))?.[1];
    if (name !== undefined && sql[at - 1] !== ":") {
      texts.push(sql.slice(from, at));
      names.push(name);
      at += name.length + 1;
      from = at;
    } else if (sql[at] === ";") {
      if (sql.slice(at + 1).replace(/--[^\n]*|\s/g, "") !== "") {
        throw new OperatingError(
          "bad_request",
          "never",
          "one text has one statement; this has more",
        );
      }
      end = at;
      break;
    } else {
      at += 1;
    }
  }
  texts.push(sql.slice(from, end));
  return { texts, names };
}

/** Where what begins here ends, if it is a quote or a comment. */
function skip(sql: string, at: number): number {
  const char = sql[at];
  if (char === "'" || char === '"' || char === "`") return closing(sql, at + 1, char);
  if (sql.startsWith("--", at)) {
    const line = sql.indexOf("\n", at);
    return line === -1 ? sql.length : line;
  }
  if (sql.startsWith("/*", at)) return closing(sql, at + 2, "*/");
  if (sql.startsWith("::", at)) return at + 2;
  const dollars =
    char === "$" ? /^\$(?:[a-z_]\w*)?\$/i.exec(sql.slice(at, at + 65))?.[0] : undefined;
  return dollars === undefined ? at : closing(sql, at + dollars.length, dollars);
}

function closing(sql: string, from: number, mark: string): number {
  const found = sql.indexOf(mark, from);
  if (found === -1) {
    throw new OperatingError("bad_request", "never", `${mark} is not closed`);
  }
  return found + mark.length;
}
