/**
 * Like pgbench's built-in scripts: the transaction of TPC-B, and its reads alone. Tables are named
 * so that pgbench's own stay untouched.
 */
import { filled } from "../fill-table.ts";
import type { ReadyTemplate } from "./ready-template.ts";

const accounts = 100_000;

const target = {
  url: "postgres://localhost/postgres",
  table_name: "tpcb_accounts",
  load_sql: [
    "DROP TABLE IF EXISTS tpcb_history",
    "DROP TABLE IF EXISTS tpcb_accounts",
    "DROP TABLE IF EXISTS tpcb_tellers",
    "DROP TABLE IF EXISTS tpcb_branches",
    "CREATE TABLE tpcb_branches (bid INTEGER NOT NULL PRIMARY KEY, bbalance BIGINT NOT NULL, filler CHAR(88))",
    "CREATE TABLE tpcb_tellers (tid INTEGER NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, tbalance BIGINT NOT NULL, filler CHAR(84))",
    "CREATE TABLE tpcb_accounts (aid BIGINT NOT NULL PRIMARY KEY, bid INTEGER NOT NULL, abalance BIGINT NOT NULL, filler CHAR(84))",
    "CREATE TABLE tpcb_history (tid INTEGER NOT NULL, bid INTEGER NOT NULL, aid BIGINT NOT NULL, delta BIGINT NOT NULL, mtime TIMESTAMP NOT NULL, filler CHAR(22))",
    filled("tpcb_branches", "i, 0, ''", 1),
    filled("tpcb_tellers", `i, ${div("i - 1", 10)} + 1, 0, ''`, 10),
    filled("tpcb_accounts", `i, ${div("i - 1", accounts)} + 1, 0, ''`, accounts),
    { postgres: "VACUUM ANALYZE tpcb_accounts", default: "" },
  ],
  reset_sql: [
    "DELETE FROM tpcb_history",
    "UPDATE tpcb_branches SET bbalance = 0",
    "UPDATE tpcb_tellers SET tbalance = 0",
    "UPDATE tpcb_accounts SET abalance = 0",
  ],
};

/** Whole division that all dialects agree on. */
function div(dividend: string, divisor: number): string {
  return `CAST(FLOOR((${dividend}) / ${divisor}.0) AS DECIMAL(12, 0))`;
}

const aid = { kind: "key", distribution: "uniform", max: `${accounts} * :scale` };

export const tpcbTemplates: readonly ReadyTemplate[] = [
  {
    template_id: "tpcb-like",
    template_name: "TPC-B-like",
    description:
      "pgbench's default transaction: three updates, a lookup and an insert. Contention on branches falls as the scale grows; keep scale at or above the connections.",
    target,
    workload: {
      concurrent_connections: 8,
      operations: [
        {
          name: "tpcb",
          kind: "UPDATE",
          transaction: true,
          statements: [
            "UPDATE tpcb_accounts SET abalance = abalance + :delta WHERE aid = :aid",
            "SELECT abalance FROM tpcb_accounts WHERE aid = :aid",
            "UPDATE tpcb_tellers SET tbalance = tbalance + :delta WHERE tid = :tid",
            "UPDATE tpcb_branches SET bbalance = bbalance + :delta WHERE bid = :bid",
            "INSERT INTO tpcb_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP)",
          ],
          parameters: {
            aid,
            tid: { kind: "key", max: "10 * :scale" },
            bid: { kind: "key", max: ":scale" },
            delta: { kind: "integer", min: -5000, max: 5000 },
          },
        },
      ],
    },
  },
  {
    template_id: "select-only",
    template_name: "Select-only",
    description: "pgbench -S: one lookup by primary key, on the tables of TPC-B-like.",
    target,
    workload: {
      concurrent_connections: 8,
      operations: [
        {
          name: "select",
          kind: "POINT_LOOKUP",
          statements: ["SELECT abalance FROM tpcb_accounts WHERE aid = :aid"],
          parameters: { aid },
        },
      ],
    },
  },
];
