/**
 * The mixes that people choose from: shares of five operations on one table that the template makes
 * itself. Saved they are `CUSTOM`, with these operations.
 */
import type { WorkloadPreset } from "../core/scenario.ts";
import type { OperationDocument, StatementText } from "./document.ts";
import { filled } from "./fill-table.ts";

export const presetRows = 100_000;

const shares: Readonly<Record<Exclude<WorkloadPreset, "CUSTOM">, Shares>> = {
  READ_ONLY: { point_lookup: 80, range_scan: 20, insert: 0, update: 0 },
  READ_HEAVY: { point_lookup: 64, range_scan: 16, insert: 10, update: 10 },
  MIXED: { point_lookup: 40, range_scan: 10, insert: 25, update: 25 },
  WRITE_HEAVY: { point_lookup: 16, range_scan: 4, insert: 40, update: 40 },
  WRITE_ONLY: { point_lookup: 0, range_scan: 0, insert: 50, update: 50 },
};

interface Shares {
  readonly point_lookup: number;
  readonly range_scan: number;
  readonly insert: number;
  readonly update: number;
}

export function presetOperations(
  preset: Exclude<WorkloadPreset, "CUSTOM">,
): readonly OperationDocument[] {
  return operationsOf(shares[preset]);
}

/** The mix of a preset, at a share of reads that the person gives. */
export function operationsAtReadPercent(readPercent: number): readonly OperationDocument[] {
  const writes = 100 - readPercent;
  return operationsOf({
    point_lookup: readPercent * 0.8,
    range_scan: readPercent * 0.2,
    insert: writes * 0.5,
    update: writes * 0.5,
  });
}

export const presetLoadSql: readonly StatementText[] = [
  "DROP TABLE IF EXISTS {table}",
  "CREATE TABLE {table} (id BIGINT NOT NULL PRIMARY KEY, amount BIGINT NOT NULL, note VARCHAR(100) NOT NULL)",
  filled("{table}", "i, i % 1000, 'a note of about forty letters, no more'", presetRows),
];

export const presetResetSql: readonly StatementText[] = [
  `DELETE FROM {table} WHERE id > ${presetRows} * :scale`,
];

function operationsOf(mix: Shares): readonly OperationDocument[] {
  const key = { kind: "key", distribution: "zipfian", min: 1, theta: 0.99 } as const;
  const id = { ...key, max: `${presetRows} * :scale` };
  const note = { kind: "text", length_min: 20, length_max: 60 } as const;
  const amount = { kind: "integer", min: 0, max: 999 } as const;
  const all: readonly OperationDocument[] = [
    {
      name: "point_lookup",
      kind: "POINT_LOOKUP",
      weight: mix.point_lookup,
      statements: ["SELECT amount, note FROM {table} WHERE id = :id"],
      transaction: false,
      parameters: { id },
    },
    {
      name: "range_scan",
      kind: "RANGE_SCAN",
      weight: mix.range_scan,
      statements: ["SELECT id, amount FROM {table} WHERE id BETWEEN :low AND :high ORDER BY id"],
      transaction: false,
      parameters: {
        low: { ...id, distribution: "uniform" },
        high: { kind: "relative", to: "low", plus: 99 },
      },
    },
    {
      name: "insert",
      kind: "INSERT",
      weight: mix.insert,
      statements: ["INSERT INTO {table} (id, amount, note) VALUES (:id, :amount, :note)"],
      transaction: false,
      parameters: {
        id: { kind: "insert_key", start: `${presetRows} * :scale + 1` },
        amount,
        note,
      },
    },
    {
      name: "update",
      kind: "UPDATE",
      weight: mix.update,
      statements: ["UPDATE {table} SET amount = :amount, note = :note WHERE id = :id"],
      transaction: false,
      parameters: { id, amount, note },
    },
  ];
  return all.filter(({ weight }) => weight > 0);
}
