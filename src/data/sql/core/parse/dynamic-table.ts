/** CREATE, ALTER, REFRESH and EXPLAIN DYNAMIC TABLE. */
import { parseLag } from "../durations.ts";
import type {
  AlterDynamicTable,
  RefreshModeWish,
  Statement,
  TableName,
  TargetLag,
} from "../statement.ts";
import type { TokenCursor } from "../token-cursor.ts";
import { takeIfNotExists } from "./create-table.ts";
import { selectToEnd } from "./query.ts";

const refreshModes = ["AUTO", "FULL", "INCREMENTAL"] as const;
const initializations = ["ON_CREATE", "ON_SCHEDULE"] as const;

interface Properties {
  targetLag?: TargetLag;
  refreshMode?: RefreshModeWish;
  initialize?: (typeof initializations)[number];
}

/** After CREATE [OR REPLACE] DYNAMIC TABLE. */
export function parseCreateDynamicTable(cursor: TokenCursor, orReplace: boolean): Statement {
  const ifNotExists = takeIfNotExists(cursor, orReplace);
  const table = cursor.tableName();
  if (cursor.isAtSymbol("(")) {
    const hint = "Give columns their names in the SELECT: SELECT x AS name.";
    throw cursor.fail("a dynamic table has the columns of its SELECT", hint);
  }
  const { targetLag, refreshMode, initialize } = properties(cursor);
  if (targetLag === undefined) {
    const hint = "TARGET_LAG = '30 seconds', or TARGET_LAG = DOWNSTREAM.";
    throw cursor.fail("TARGET_LAG is missing before AS", hint);
  }
  cursor.expect("AS");
  return {
    kind: "createDynamicTable",
    table,
    orReplace,
    ifNotExists,
    targetLag,
    refreshMode: refreshMode ?? "AUTO",
    initialize: initialize ?? "ON_CREATE",
    query: selectToEnd(cursor, "AS"),
  };
}

/** In any order, each at most once. */
function properties(cursor: TokenCursor): Properties {
  const found: Properties = {};
  while (!cursor.isAtEnd && !cursor.isAt("AS")) {
    if (cursor.isAt("TARGET_LAG")) {
      refuseSecond(cursor, found.targetLag);
      found.targetLag = targetLagProperty(cursor);
    } else if (cursor.isAt("REFRESH_MODE")) {
      refuseSecond(cursor, found.refreshMode);
      found.refreshMode = choiceProperty(cursor, refreshModes);
    } else if (cursor.isAt("INITIALIZE")) {
      refuseSecond(cursor, found.initialize);
      found.initialize = choiceProperty(cursor, initializations);
    } else {
      throw cursor.unexpected("TARGET_LAG, REFRESH_MODE, INITIALIZE or AS");
    }
  }
  return found;
}

function refuseSecond(cursor: TokenCursor, before: unknown): void {
  if (before !== undefined) throw cursor.fail(`${cursor.keyword()} is given twice`);
}

function targetLagProperty(cursor: TokenCursor): TargetLag {
  cursor.expect("TARGET_LAG");
  cursor.expectSymbol("=");
  if (cursor.take("DOWNSTREAM")) return { kind: "downstream" };
  const token = cursor.peek();
  if (token?.kind === "number") {
    throw cursor.fail("a duration stands in single quotes", "TARGET_LAG = '30 seconds'.");
  }
  if (token?.kind !== "text" || token.value === undefined) {
    throw cursor.unexpected("a duration like '30 seconds', or DOWNSTREAM");
  }
  const lag = parseLag(token.value);
  if (lag.kind === "problem") throw cursor.fail(lag.message, lag.hint);
  cursor.next();
  return { kind: "time", ms: lag.ms };
}

/** The word before it, `=`, and one of the choices, with or without quotes. */
function choiceProperty<Choice extends string>(
  cursor: TokenCursor,
  choices: readonly Choice[],
): Choice {
  cursor.next();
  cursor.expectSymbol("=");
  const token = cursor.peek();
  const written = token?.kind === "text" ? (token.value ?? "").toUpperCase() : cursor.keyword();
  const choice = choices.find((each) => each === written);
  if (choice === undefined) throw cursor.unexpected(choices.join(" or "));
  cursor.next();
  return choice;
}

/** After ALTER DYNAMIC TABLE. */
export function parseAlterDynamicTable(cursor: TokenCursor): Statement {
  if (cursor.isAt("IF", "EXISTS")) throw cursor.fail("IF EXISTS is not supported here");
  const table = cursor.tableName();
  if (cursor.take("REFRESH")) return refreshOf(cursor, table);
  const change = alteration(cursor);
  if (!cursor.isAtEnd) throw cursor.fail("one change at a time");
  return { kind: "alterDynamicTable", table, change };
}

function alteration(cursor: TokenCursor): AlterDynamicTable {
  if (cursor.take("SUSPEND")) return { kind: "suspend" };
  if (cursor.take("RESUME")) return { kind: "resume" };
  if (cursor.take("SET")) {
    if (cursor.isAt("TARGET_LAG")) {
      return { kind: "setTargetLag", targetLag: targetLagProperty(cursor) };
    }
    if (cursor.isAt("REFRESH_MODE")) {
      return { kind: "setRefreshMode", refreshMode: choiceProperty(cursor, refreshModes) };
    }
    throw cursor.unexpected("TARGET_LAG or REFRESH_MODE");
  }
  if (["ADD", "DROP", "RENAME", "ALTER"].includes(cursor.keyword())) {
    const hint = "CREATE OR REPLACE DYNAMIC TABLE gives it another definition.";
    throw cursor.fail(`${cursor.keyword()} is not supported for dynamic tables`, hint);
  }
  throw cursor.unexpected("SUSPEND, RESUME, REFRESH, SET TARGET_LAG or SET REFRESH_MODE");
}

/** After REFRESH DYNAMIC TABLE and EXPLAIN DYNAMIC TABLE. */
export function parseNamedDynamicTable(
  cursor: TokenCursor,
  kind: "refreshDynamicTable" | "explainDynamicTable",
): Statement {
  const table = cursor.tableName();
  if (kind === "refreshDynamicTable") return refreshOf(cursor, table);
  cursor.end();
  return { kind, table };
}

function refreshOf(cursor: TokenCursor, table: TableName): Statement {
  const waits = cursor.take("WAIT");
  cursor.end();
  return { kind: "refreshDynamicTable", table, ...(waits ? { wait: true } : {}) };
}
