import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../kernel/errors.ts";
import { HealthBoard } from "../kernel/health.ts";
import { VirtualClock } from "../kernel/testing/virtual-clock.ts";
import { RoomWatch } from "./room-watch.ts";

test("[PR15] a disk that is full is a failed part until there is room in every place", async () => {
  const clock = new VirtualClock();
  const board = new HealthBoard({ clock });
  const state = () => board.parts()[0]?.state;
  const free = new Map([
    ["lake", 0],
    ["own", 1e9],
  ]);
  const freeBytes = async (place: string) => {
    const bytes = free.get(place);
    if (bytes === undefined) throw new Error("it is gone");
    return bytes;
  };
  const places = ["lake", "own", "gone"];
  const room = new RoomWatch({ places, health: board.part("disk"), clock, freeBytes });
  assert.equal(await room.noting(Promise.resolve(7)), 7);
  await assert.rejects(room.noting(Promise.reject(new Error("other"))), /other/);
  assert.equal(state(), "ok");

  const full = new OperatingError("disk_full", "backoff", "no room");
  await assert.rejects(room.noting(Promise.reject(full)), { code: "disk_full" });
  assert.equal(state(), "failed");
  await clock.advance(60_000);
  assert.equal(state(), "failed");
  free.set("lake", 2e6);
  await clock.advance(2_100);
  assert.equal(state(), "ok");

  const own = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  await assert.rejects(room.noting(Promise.reject(own)), { code: "ENOSPC" });
  assert.equal(state(), "failed");
  await clock.advance(2_100);
  assert.equal(state(), "ok", "a quota, or one file that was too large: it is tried again");
  room.close();
  assert.equal(clock.pendingCount, 0);
});
