/** Texts that DuckDB parses: the words that begin them, and what may not end them. */
import type { Statement, TextSpan } from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";

export const selectWords: ReadonlySet<string> = new Set(
  "SELECT VALUES FROM WITH TABLE PIVOT PIVOT_WIDER PIVOT_LONGER UNPIVOT".split(" "),
);

export function isAtSelect(cursor: TokenCursor): boolean {
  return selectWords.has(cursor.keyword()) || cursor.isAtSymbol("(");
}

/** A SELECT to the end of the statement. `after` is for the error. */
export function selectToEnd(cursor: TokenCursor, after: string): TextSpan {
  if (!isAtSelect(cursor)) throw cursor.unexpected(`a SELECT after ${after}`);
  checkWith(cursor);
  const span = cursor.spanUntil(() => refuseAtEnd(cursor), "a SELECT");
  cursor.end();
  return span;
}

export function parseQuery(cursor: TokenCursor): Statement {
  checkWith(cursor);
  const query = cursor.rest("a query");
  cursor.end();
  return { kind: "query", query };
}

/** Refuses words that may end DuckDB's INSERT or CREATE TABLE AS, but not a SELECT. */
function refuseAtEnd(cursor: TokenCursor): false {
  if (cursor.isAt("RETURNING")) {
    throw cursor.fail("RETURNING is not supported", "Run a SELECT afterwards.");
  }
  if (cursor.isAt("ON", "CONFLICT")) {
    throw cursor.fail(
      "ON CONFLICT is not supported: tables have no keys",
      "Leave out what is there already: INSERT INTO t SELECT … WHERE NOT EXISTS (…).",
    );
  }
  if (cursor.isAt("WITH", "NO", "DATA")) {
    throw cursor.fail("WITH NO DATA is not supported", "Add LIMIT 0 to the SELECT.");
  }
  if (cursor.isAt("WITH", "DATA")) throw cursor.fail("WITH DATA is not supported", "Leave it out.");
  return false;
}

/** Refuses `WITH … INSERT`, which DuckDB has. Looks ahead and takes nothing. */
function checkWith(cursor: TokenCursor): void {
  if (!cursor.isAt("WITH")) return;
  let depth = 0;
  let wasClosed = false;
  for (let ahead = 1; ; ahead += 1) {
    const token = cursor.peek(ahead);
    if (token === undefined) return;
    const sign = token.kind === "punctuation" ? token.text : "";
    if (depth === 0) {
      const verb = cursor.keyword(ahead);
      // The closing bracket of a CTE is followed by a comma or by the WITH's own statement.
      if (wasClosed && ["INSERT", "UPDATE", "DELETE", "MERGE", "COPY"].includes(verb)) {
        const hint =
          verb === "INSERT"
            ? "Put it behind the table: INSERT INTO t WITH … SELECT …."
            : "Use a subquery instead.";
        throw cursor.fail(`WITH before ${verb} is not supported`, hint, ahead);
      }
      if (selectWords.has(verb)) return;
    }
    if (/[([{]/.test(sign)) depth += 1;
    if (/[)\]}]/.test(sign)) depth -= 1;
    wasClosed = sign === ")";
  }
}
