/**
 * Checks that the directories and files of a process are still those it started with (PR13). A
 * directory that was deleted, moved or unmounted keeps taking writes that nobody will read, so the
 * process must not stay ready until the same directory is back. A check that fails for another
 * reason (the disk does not answer) counts as failed too.
 */
import { stat } from "node:fs/promises";
import type { Clock } from "../kernel/clock.ts";
import { messageOf, OperatingError } from "../kernel/errors.ts";
import type { Health, HealthReporter } from "../kernel/health.ts";
import type { Logger } from "../kernel/logger.ts";
import { Loop } from "../reconcile/index.ts";

export interface WatchedPlace {
  /** The name of the part: `data_dir`, `metrics_dir`. */
  readonly part: string;
  /** The name in messages, which must not show paths. */
  readonly name: string;
  readonly path: string;
}

export interface DirectoryWatch {
  /** Checks at once. Throws `data_dir_unusable` if a place has failed. */
  require(): Promise<void>;
  close(): void;
}

interface Known {
  readonly place: WatchedPlace;
  readonly identity: string;
  readonly health: HealthReporter;
  trouble: string | undefined;
}

const everyMsDefault = 1_000;

/** A place that does not exist yet is watched from the moment that it does. */
export async function watchDirectories(options: {
  readonly places: readonly WatchedPlace[];
  readonly health: Health;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly everyMs?: number;
}): Promise<DirectoryWatch> {
  const { places, health, clock, logger, everyMs = everyMsDefault } = options;
  const known = new Map<WatchedPlace, Known>();
  const look = async (): Promise<void> => {
    for (const place of places) {
      const found = await identityOf(place.path);
      const before = known.get(place);
      if (before !== undefined) judge(before, found);
      else if (found.identity !== undefined) {
        const reporter = health.part(place.part, { vital: true });
        known.set(place, { place, identity: found.identity, health: reporter, trouble: undefined });
      }
    }
  };
  await look();
  const looks = new Loop({ clock, logger, turn: look, everyMs, firstMs: everyMs });
  looks.start();
  return {
    async require() {
      await look();
      for (const { place, trouble } of known.values()) {
        if (trouble === undefined) continue;
        throw new OperatingError("data_dir_unusable", "never", `${place.name} ${trouble}`, {
          hint: "Bring it back, or stop this process and start it where its data are.",
        });
      }
    },
    close() {
      void looks.stop();
    },
  };
}

function judge(known: Known, { identity, error }: Found): void {
  const { name } = known.place;
  if (error !== undefined) known.trouble = `cannot be looked at: ${error}`;
  else if (identity === undefined) known.trouble = "is gone: what is written is lost";
  else if (identity !== known.identity) {
    known.trouble = "is another one than at the start: what is written goes to the old one";
  } else known.trouble = undefined;
  if (known.trouble === undefined) known.health.ok();
  else known.health.failed(`${name} ${known.trouble}`);
}

interface Found {
  /** Undefined when nothing is there. */
  readonly identity?: string;
  readonly error?: string;
}

async function identityOf(path: string): Promise<Found> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return { identity: `${dev}:${ino}` };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    return { error: code ?? messageOf(thrown) };
  }
}
