import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRevision, type Revision } from "../../kernel/ids.ts";
import { parseWatchSelect } from "./parse-watch-select.ts";
import { ownWatchedTables } from "./schema.ts";
import type { CatalogChange } from "./store.ts";
import { decideWatchEvent } from "./watch-event.ts";
import { matchesWatch, projectWatch, type WatchRow } from "./watch-select.ts";

const select = parseWatchSelect(
  "SELECT capacity FROM workers WHERE state = 'ACTIVE'",
  ownWatchedTables,
);
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
const filters: readonly [where: string, want: boolean][] = [
  ["capacity = 2", true],
  ["capacity != 2", false],
  ["capacity < 3 AND capacity > 1", true],
  ["capacity <= 1", false],
  ["capacity >= 2", true],
  ["capacity IN (1, 2)", true],
  ["state IN ('UNREACHABLE')", false],
  ["state > 'A'", true],
  ["host_name IS NULL", true],
  ["host_name IS NOT NULL", false],
  ["host_name = 'a'", false],
  ["host_name != 'a'", false],
  ["host_name IN ('a')", false],
];
for (const [where, want] of filters) {
  test(`[ST36] ${where} is ${want ? "true" : "not true"} of the row`, () => {
    const parsed = parseWatchSelect(`SELECT * FROM workers WHERE ${where}`, ownWatchedTables);
    assert.equal(matchesWatch(parsed, row), want);
  });
}

test("[ST36] the key is always shown", () => {
  const shown = projectWatch(parseWatchSelect("SELECT state FROM workers", ownWatchedTables), row);
  assert.deepEqual(shown, { worker_id: "w1", state: "ACTIVE" });
});
