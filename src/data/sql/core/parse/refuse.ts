/** Refuses DuckDB's unsupported statements by name, with an alternative where there is one. */
import type { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { TokenCursor } from "../token-cursor.ts";

const transactions = "Every statement is a transaction of its own.";
const settings = "Settings of the engine are the server's.";
const outside = "Nothing outside of the lake can be reached from SQL.";

const statements: ReadonlyMap<string, string | undefined> = new Map([
  ...["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT"].map(
    (word) => [word, transactions] as const,
  ),
  ...["SET", "RESET", "PRAGMA"].map((word) => [word, settings] as const),
  ...["ATTACH", "DETACH", "USE", "INSTALL", "LOAD", "UPDATE_EXTENSIONS", "EXPORT", "IMPORT"].map(
    (word) => [word, outside] as const,
  ),
  ["CALL", "Table functions stand behind FROM: SELECT * FROM range(10)."],
  ["MERGE", "Use UPDATE and INSERT."],
  ["REPLACE", "Use DELETE and INSERT."],
  ["PREPARE", undefined],
  ["EXECUTE", undefined],
  ["DEALLOCATE", undefined],
  ["VACUUM", "The lake is compacted by itself."],
  ["ANALYZE", "Statistics are kept with every file."],
  ["CHECKPOINT", "Every statement is durable when it is done."],
  ["COMMENT", undefined],
  ["GRANT", undefined],
  ["REVOKE", undefined],
]);

/** `verbs` are the first words of supported statements. */
export function refuseStatement(cursor: TokenCursor, verbs: readonly string[]): OperatingError {
  if (cursor.isAtEnd) return cursor.fail("there is no statement");
  const verb = cursor.keyword();
  if (statements.has(verb)) {
    return cursor.fail(`${verb} is not supported`, statements.get(verb));
  }
  const token = cursor.peek();
  const words = verbs.filter((each) => /^\w/.test(each));
  const hint = `Statements begin with ${words.slice(0, -1).join(", ")} or ${words.at(-1)}.`;
  return cursor.fail(`no statement begins with ${token?.text}`, hint);
}

const view = "A dynamic table keeps a SELECT's result fresh: CREATE DYNAMIC TABLE.";
const objects: ReadonlyMap<string, string | undefined> = new Map([
  ["VIEW", view],
  ["RECURSIVE", view],
  ["MATERIALIZED", view],
  ["INDEX", "Files have statistics that readers skip them by."],
  ["UNIQUE", "Tables have no keys."],
  ["SCHEMA", "Tables are in the schema main."],
  ["TEMP", "Use a CTE: WITH name AS (…) SELECT …."],
  ["TEMPORARY", "Use a CTE: WITH name AS (…) SELECT …."],
  ["SEQUENCE", undefined],
  ["MACRO", undefined],
  ["FUNCTION", undefined],
  ["TYPE", "Write the type where it is used."],
  ["DATABASE", undefined],
  ["SECRET", undefined],
  ["PERSISTENT", undefined],
  ["TRIGGER", undefined],
]);

/** After CREATE, ALTER or DROP. `others` are the accepted words besides TABLE. */
export function refuseObject(
  cursor: TokenCursor,
  verb: string,
  others: readonly string[],
): OperatingError {
  const object = cursor.keyword();
  if (objects.has(object)) {
    return cursor.fail(`${verb} ${object} is not supported`, objects.get(object));
  }
  return cursor.unexpected(`${["TABLE", ...others].join(" or ")} after ${verb}`);
}
