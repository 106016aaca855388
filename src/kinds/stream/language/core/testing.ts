/** What the tests of the language share: a catalog from statements, and plans over it. */

import { DialectError } from "./dialect-error.ts";
import { type DialectSettings, defaultDialect } from "./dialect-settings.ts";
import { LocalCatalog } from "./local-catalog.ts";
import { parseStatements } from "./parse/parse-statements.ts";
import type { Plan, PlanNode } from "./plan.ts";
import { planQuery } from "./plan-statement.ts";

export const exampleStatements = `
CREATE LOGICAL SOURCE bids(ts UINT64 NOT NULL, auction INT32 NOT NULL, price FLOAT64, name VARSIZED);
CREATE PHYSICAL SOURCE FOR bids TYPE File SET('bids.csv' AS "SOURCE".FILE_PATH);
CREATE LOGICAL SOURCE asks(at INT64 NOT NULL, item INT32 NOT NULL, cost FLOAT64, flag BOOLEAN NOT NULL, letter CHAR NOT NULL);
CREATE PHYSICAL SOURCE FOR asks TYPE File SET('asks.csv' AS "SOURCE".FILE_PATH);
CREATE LOGICAL SOURCE twice(ts UINT64 NOT NULL, v INT8 NOT NULL) WATERMARK(ts, 5 SEC);
CREATE PHYSICAL SOURCE FOR twice TYPE File SET('a.csv' AS "SOURCE".FILE_PATH);
CREATE PHYSICAL SOURCE FOR twice TYPE File SET('b.csv' AS "SOURCE".FILE_PATH);
CREATE LOGICAL SOURCE numbers(i8 INT8 NOT NULL, i16 INT16 NOT NULL, i32 INT32 NOT NULL, i64 INT64 NOT NULL, u8 UINT8 NOT NULL,
  u16 UINT16 NOT NULL, u32 UINT32 NOT NULL, u64 UINT64 NOT NULL, f32 FLOAT32 NOT NULL, f64 FLOAT64 NOT NULL, n INT32, ts UINT64 NOT NULL);
CREATE PHYSICAL SOURCE FOR numbers TYPE File SET('numbers.csv' AS "SOURCE".FILE_PATH);
CREATE SINK named(auction INT64 NOT NULL, price FLOAT64) TYPE Void;
`;

export function exampleCatalog(more = "", dialect: DialectSettings = defaultDialect): LocalCatalog {
  const catalog = new LocalCatalog(dialect, [
    {
      name: "customers",
      schema: [
        { name: "id", type: { name: "INT32", nullable: false } },
        { name: "city", type: { name: "VARSIZED", nullable: true } },
      ],
    },
  ]);
  for (const statement of parseStatements(exampleStatements + more)) catalog.apply(statement);
  return catalog;
}

/** The plan of the last statement; the ones before it go to the catalog. */
export function examplePlan(text: string, dialect: DialectSettings = defaultDialect): Plan {
  const catalog = exampleCatalog("", dialect);
  for (const statement of parseStatements(text)) {
    if (statement.kind === "query") return planQuery(statement.query, catalog, dialect);
    catalog.apply(statement);
  }
  throw new Error("there is no query");
}

export function sinkOf(plan: Plan): PlanNode {
  return plan.nodes.find(({ op }) => op.kind === "sink") as PlanNode;
}

/** The result's columns as `name TYPE`, with a question mark where NULL is possible. */
export function resultOf(text: string): string {
  const { schema } = sinkOf(examplePlan(`${text} INTO Void()`));
  return schema
    .map(({ name, type }) => `${name} ${type.name}${type.nullable ? "?" : ""}`)
    .join(", ");
}

/** The number and the message of the error that `run` throws. */
export function errorOf(run: () => unknown): DialectError {
  try {
    run();
  } catch (error) {
    if (error instanceof DialectError) return error;
    throw error;
  }
  throw new Error("there was no error");
}
