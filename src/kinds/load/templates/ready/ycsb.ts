/**
 * The core workloads of YCSB: ten fields of a hundred letters, zipfian keys unless said otherwise.
 */
import { filled } from "../fill-table.ts";
import type { ReadyTemplate } from "./ready-template.ts";

const records = 10_000;
const fieldNames = Array.from({ length: 10 }, (_, at) => `field${at}`);
const letters = "abcdefghij".repeat(10);

const target = {
  url: "postgres://localhost/postgres",
  table_name: "ycsb_usertable",
  load_sql: [
    "DROP TABLE IF EXISTS {table}",
    `CREATE TABLE {table} (ycsb_key BIGINT NOT NULL PRIMARY KEY, ${fieldNames.map((name) => `${name} VARCHAR(100) NOT NULL`).join(", ")})`,
    filled("{table}", `i, ${fieldNames.map(() => `'${letters}'`).join(", ")}`, records),
    { postgres: "VACUUM ANALYZE {table}", default: "" },
  ],
  reset_sql: [`DELETE FROM {table} WHERE ycsb_key > ${records} * :scale`],
  reset_data: true,
};

const zipfian = { kind: "key", distribution: "zipfian", max: `${records} * :scale` };
const latest = { ...zipfian, distribution: "latest" };
const field = { kind: "text", length_max: 100 };

const read = (key: object): object => ({
  name: "read",
  kind: "POINT_LOOKUP",
  statements: ["SELECT * FROM {table} WHERE ycsb_key = :key"],
  parameters: { key },
});

const update = {
  name: "update",
  kind: "UPDATE",
  statements: ["UPDATE {table} SET field0 = :field WHERE ycsb_key = :key"],
  parameters: { key: zipfian, field },
};

const insert = {
  name: "insert",
  kind: "INSERT",
  statements: [
    `INSERT INTO {table} (ycsb_key, ${fieldNames.join(", ")}) VALUES (:key, ${fieldNames.map(() => ":field").join(", ")})`,
  ],
  parameters: { key: { kind: "insert_key", start: `${records} * :scale + 1` }, field },
};

const scan = {
  name: "scan",
  kind: "RANGE_SCAN",
  statements: ["SELECT * FROM {table} WHERE ycsb_key >= :key ORDER BY ycsb_key LIMIT :count"],
  parameters: { key: zipfian, count: { kind: "integer", min: 1, max: 100 } },
};

const readModifyWrite = {
  name: "read_modify_write",
  kind: "UPDATE",
  transaction: true,
  statements: [
    "SELECT * FROM {table} WHERE ycsb_key = :key",
    "UPDATE {table} SET field0 = :field WHERE ycsb_key = :key",
  ],
  parameters: { key: zipfian, field },
};

const workloads: readonly [letter: string, description: string, operations: readonly object[]][] = [
  [
    "A",
    "Update heavy: half reads, half updates, as a session store.",
    [
      { ...read(zipfian), percent: 50 },
      { ...update, percent: 50 },
    ],
  ],
  [
    "B",
    "Read mostly: 95 % reads, 5 % updates, as photo tagging.",
    [
      { ...read(zipfian), percent: 95 },
      { ...update, percent: 5 },
    ],
  ],
  ["C", "Read only, as a cache of profiles.", [{ ...read(zipfian), percent: 100 }]],
  [
    "D",
    "Read latest: 95 % reads of what was inserted last, 5 % inserts, as status updates.",
    [
      { ...read(latest), percent: 95 },
      { ...insert, percent: 5 },
    ],
  ],
  [
    "E",
    "Short ranges: 95 % scans of up to 100 records, 5 % inserts, as threaded conversations.",
    [
      { ...scan, percent: 95 },
      { ...insert, percent: 5 },
    ],
  ],
  [
    "F",
    "Read, modify, write: half reads, half read-modify-write transactions, as a user database.",
    [
      { ...read(zipfian), percent: 50 },
      { ...readModifyWrite, percent: 50 },
    ],
  ],
];

export const ycsbTemplates: readonly ReadyTemplate[] = workloads.map(
  ([letter, description, operations]) => ({
    template_id: `ycsb-${letter.toLowerCase()}`,
    template_name: `YCSB ${letter}`,
    description,
    target,
    workload: { concurrent_connections: 8, operations },
  }),
);
