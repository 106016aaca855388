/** Parses statements about dynamic tables. */
import {
  parseDropTable,
  selectToEnd,
  type TableName,
  type TextSpan,
  type TokenCursor,
  takeIfNotExists,
} from "../../../data/sql/core/index.ts";
import type { DynamicTable, TargetLag } from "./model.ts";
import { parseLag } from "./target-lag.ts";

const refreshModes = ["AUTO", "FULL", "INCREMENTAL"] as const;
const initializations = ["ON_CREATE", "ON_SCHEDULE"] as const;

interface Properties {
  targetLag?: TargetLag;
  refreshMode?: DynamicTable["modeWish"];
  initialize?: (typeof initializations)[number];
}

export type DynamicStatement =
  | ({
      readonly kind: "create";
      readonly table: TableName;
      readonly orReplace: boolean;
      readonly ifNotExists: boolean;
      readonly query: TextSpan;
    } & Readonly<Required<Properties>>)
  | { readonly kind: "alter"; readonly table: TableName; readonly change: Alteration }
  | { readonly kind: "drop"; readonly table: TableName; readonly ifExists: boolean }
  /** With `wait`, the statement ends when the table is fresh. */
  | { readonly kind: "refresh"; readonly table: TableName; readonly wait: boolean }
  | { readonly kind: "describe"; readonly table: TableName }
  | { readonly kind: "explain"; readonly table: TableName }
  | { readonly kind: "show" }
  | {
      readonly kind: "showHistory";
      readonly table: TableName | undefined;
      readonly limit: number | undefined;
    };

type Alteration =
  | { readonly kind: "suspend" }
  | { readonly kind: "resume" }
  | { readonly kind: "setTargetLag"; readonly targetLag: TargetLag }
  | { readonly kind: "setRefreshMode"; readonly refreshMode: DynamicTable["modeWish"] };

export const dynamicHeads: readonly string[] = [
  ...["CREATE", "ALTER", "DROP", "EXPLAIN", "DESCRIBE", "DESC"].map(
    (verb) => `${verb} DYNAMIC TABLE`,
  ),
  ...["REFRESH", "SHOW DYNAMIC TABLES", "SHOW REFRESH HISTORY"],
];

/** Parses a statement that begins with one of `dynamicHeads`. */
export function parseDynamicStatement(cursor: TokenCursor): DynamicStatement {
  const verb = cursor.next().text.toUpperCase();
  if (verb === "SHOW") return cursor.take("REFRESH", "HISTORY") ? history(cursor) : show(cursor);
  const orReplace = cursor.take("OR", "REPLACE");
  if (verb === "REFRESH" && (cursor.isAt("TABLE") || cursor.isAt("MATERIALIZED"))) {
    throw cursor.fail("only dynamic tables are refreshed", "REFRESH DYNAMIC TABLE name.");
  }
  cursor.expect("DYNAMIC");
  cursor.expect("TABLE");
  switch (verb) {
    case "CREATE":
      return create(cursor, orReplace);
    case "ALTER":
      return alter(cursor);
    case "DROP":
      return { ...parseDropTable(cursor), kind: "drop" };
    case "REFRESH":
      return refreshOf(cursor, cursor.tableName());
    default: {
      const table = cursor.tableName();
      cursor.end();
      return { kind: verb === "EXPLAIN" ? "explain" : "describe", table };
    }
  }
}

function show(cursor: TokenCursor): DynamicStatement {
  cursor.take("DYNAMIC", "TABLES");
  cursor.end();
  return { kind: "show" };
}

/** Parses what follows SHOW REFRESH HISTORY. */
function history(cursor: TokenCursor): DynamicStatement {
  const hasFor = cursor.take("FOR");
  const isNamed = hasFor || (!cursor.isAtEnd && !cursor.isAt("LIMIT"));
  const table = isNamed ? cursor.tableName() : undefined;
  let limit: number | undefined;
  if (cursor.take("LIMIT")) {
    const token = cursor.peek();
    if (token?.kind !== "number" || !/^[0-9]{1,9}$/.test(token.text)) {
      throw cursor.unexpected("a whole number after LIMIT");
    }
    limit = Number(cursor.next().text);
  }
  cursor.end();
  return { kind: "showHistory", table, limit };
}

/** Parses what follows CREATE [OR REPLACE] DYNAMIC TABLE. */
function create(cursor: TokenCursor, orReplace: boolean): DynamicStatement {
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
    kind: "create",
    table,
    orReplace,
    ifNotExists,
    targetLag,
    refreshMode: refreshMode ?? "AUTO",
    initialize: initialize ?? "ON_CREATE",
    query: selectToEnd(cursor, "AS"),
  };
}

/** Parses the properties: in any order, each at most once. */
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

/** Parses `=` and one of the choices, with or without quotes, after a property's name. */
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

/** Parses what follows ALTER DYNAMIC TABLE. */
function alter(cursor: TokenCursor): DynamicStatement {
  if (cursor.isAt("IF", "EXISTS")) throw cursor.fail("IF EXISTS is not supported here");
  const table = cursor.tableName();
  if (cursor.take("REFRESH")) return refreshOf(cursor, table);
  const change = alteration(cursor);
  if (!cursor.isAtEnd) throw cursor.fail("one change at a time");
  return { kind: "alter", table, change };
}

function alteration(cursor: TokenCursor): Alteration {
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

function refreshOf(cursor: TokenCursor, table: TableName): DynamicStatement {
  const wait = cursor.take("WAIT");
  cursor.end();
  return { kind: "refresh", table, wait };
}
