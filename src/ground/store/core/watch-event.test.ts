import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import type { CatalogChange } from "./store.ts";
import { decideWatchEvent } from "./watch-event.ts";
import {
  type ComparisonOp,
  matchesWatch,
  projectWatch,
  type WatchCondition,
  type WatchRow,
  type WatchSelect,
} from "./watch-select.ts";

const select: WatchSelect = {
  table: "workers",
  key: "worker_id",
  columns: ["capacity"],
  where: [{ kind: "compare", column: "state", op: "=", value: "ACTIVE" }],
};
const revision = parseRevision(7) as Revision;

const seen: WatchRow = { worker_id: "w1", state: "ACTIVE", capacity: 1, host_name: "a" };
const bigger: WatchRow = { ...seen, capacity: 2 };
const moved: WatchRow = { ...seen, host_name: "b" };
const unseen: WatchRow = { ...seen, state: "UNREACHABLE" };

const change = (op: CatalogChange["op"], row: WatchRow, oldRow?: WatchRow): CatalogChange => ({
  revision,
  table: "workers",
  key: "w1",
  op,
  row,
  oldRow,
});

test("[ST36] the key is shown under its other name, if that was asked for", () => {
  const shown = projectWatch({ ...select, keyAs: "id" }, seen);
  assert.deepEqual(shown, { id: "w1", capacity: 1 });
});

const cases: readonly [name: string, change: CatalogChange, want: string | undefined][] = [
  ["[ST31] created inside", change("CREATE", seen), "CREATE 1"],
  ["[ST31] created outside", change("CREATE", unseen), undefined],
  ["[ST31] changed inside", change("UPDATE", bigger, seen), "UPDATE 2"],
  ["[ST31] came inside", change("UPDATE", seen, unseen), "CREATE 1"],
  ["[ST31] went outside", change("UPDATE", unseen, seen), "DROP"],
  ["[ST31] changed outside", change("UPDATE", { ...unseen, capacity: 9 }, unseen), undefined],
  ["[ST37] changed where nobody looks", change("UPDATE", moved, seen), undefined],
  ["[ST31] dropped inside", change("DROP", seen), "DROP"],
  ["[ST31] dropped outside", change("DROP", unseen), undefined],
];
for (const [name, given, want] of cases) {
  test(name, () => {
    const event = decideWatchEvent(select, given);
    const shown = event?.type === "EVENT" ? `${event.op} ${event.data?.capacity ?? ""}` : undefined;
    assert.equal(shown?.trim(), want);
    if (event !== undefined) assert.equal(event.revision, revision);
  });
}

const row: WatchRow = { worker_id: "w1", state: "ACTIVE", capacity: 2, host_name: null };
const compare = (column: string, op: ComparisonOp, value: string | number): WatchCondition => ({
  kind: "compare",
  column,
  op,
  value,
});
const oneOf = (column: string, ...values: (string | number)[]): WatchCondition => ({
  kind: "in",
  column,
  values,
});
const filters: readonly [where: readonly WatchCondition[], want: boolean][] = [
  [[compare("capacity", "=", 2)], true],
  [[compare("capacity", "!=", 2)], false],
  [[compare("capacity", "<", 3), compare("capacity", ">", 1)], true],
  [[compare("capacity", "<=", 1)], false],
  [[compare("capacity", ">=", 2)], true],
  [[oneOf("capacity", 1, 2)], true],
  [[oneOf("state", "UNREACHABLE")], false],
  [[compare("state", ">", "A")], true],
  [[{ kind: "null", column: "host_name", negated: false }], true],
  [[{ kind: "null", column: "host_name", negated: true }], false],
  [[compare("host_name", "=", "a")], false],
  [[compare("host_name", "!=", "a")], false],
  [[oneOf("host_name", "a")], false],
];
for (const [where, want] of filters) {
  test(`[ST36] ${JSON.stringify(where)} is ${want ? "true" : "not true"} of the row`, () => {
    assert.equal(
      matchesWatch({ table: "workers", key: "worker_id", columns: undefined, where }, row),
      want,
    );
  });
}

test("[ST36] the key is always shown", () => {
  const shown = projectWatch(
    { table: "workers", key: "worker_id", columns: ["state"], where: [] },
    row,
  );
  assert.deepEqual(shown, { worker_id: "w1", state: "ACTIVE" });
});
