/** The contract of every `ArtifactFetcher`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../../kernel/errors.ts";
import type { WorkerId } from "../../kernel/ids.ts";
import type { Artifact } from "./assignment/index.ts";
import type { ArtifactFetcher } from "./ports.ts";
import { aWorkKey } from "./testing/a-work-key.ts";

export interface FetcherUnderTest {
  /** Keeps copies of at most `capacityBytes` in total. */
  readonly fetcher: ArtifactFetcher;
  /** Puts these bytes on a worker, and describes them correctly except for `lies`. */
  offer(bytes: Uint8Array, lies?: Partial<Artifact>): Promise<Artifact>;
  /** Removes the artifact from the worker. */
  withdraw(artifact: Artifact): void;
  read(path: string): Promise<Uint8Array>;
  copies(): Promise<number>;
  close(): Promise<void>;
}

const workerId = "w1" as WorkerId;
const never = new AbortController().signal;
const wrongChecksum = `sha256:${"0".repeat(64)}`;

export function testArtifactFetcher(
  kind: string,
  open: (capacityBytes: number) => Promise<FetcherUnderTest>,
): void {
  const capacityBytes = 8 * 1024 * 1024;
  const check = (name: string, body: (under: FetcherUnderTest) => Promise<void>): void => {
    test(`${name} (${kind})`, async () => {
      const under = await open(capacityBytes);
      try {
        await body(under);
        assert.equal(await under.copies(), 0, "no copy is left");
      } finally {
        await under.close();
      }
    });
  };
  const fails = (code: string) => (thrown: unknown) => {
    assert.ok(thrown instanceof OperatingError, String(thrown));
    assert.equal(thrown.code, code, thrown.message);
    return true;
  };

  for (const sizeBytes of [0, 1, 100_000, 3_000_000]) {
    check(
      `[QU2] ${sizeBytes} bytes arrive as they were, and go when disposed of`,
      async (under) => {
        const bytes = new Uint8Array(sizeBytes).map((_, index) => index % 251);
        const artifact = await under.offer(bytes);
        const local = await under.fetcher.fetch(workerId, artifact, never, aWorkKey);
        const { content } = local;
        if (typeof content !== "string") assert.equal(Buffer.compare(content, bytes), 0);
        const path = await local.file();
        assert.equal(Buffer.compare(await under.read(path), bytes), 0);
        assert.equal(await local.file(), path);
        assert.deepEqual(local.artifact, artifact);
        assert.equal(await under.copies(), 1);
        await local.dispose();
        await local.dispose();
      },
    );

    check(`[QU2] ${sizeBytes} bytes with another checksum are corrupt`, async (under) => {
      const artifact = await under.offer(new Uint8Array(sizeBytes), { checksum: wrongChecksum });
      await assert.rejects(
        under.fetcher.fetch(workerId, artifact, never, aWorkKey),
        fails("artifact_corrupt"),
      );
    });

    for (const lieBytes of [1, -1]) {
      if (sizeBytes + lieBytes < 0) continue;
      check(
        `[QU2] ${sizeBytes} bytes instead of ${sizeBytes + lieBytes} are corrupt`,
        async (under) => {
          const lies = { sizeBytes: sizeBytes + lieBytes };
          const artifact = await under.offer(new Uint8Array(sizeBytes), lies);
          await assert.rejects(
            under.fetcher.fetch(workerId, artifact, never, aWorkKey),
            fails("artifact_corrupt"),
          );
        },
      );
    }
  }

  check("[QU52] what the worker has no more is lost", async (under) => {
    const artifact = await under.offer(new Uint8Array(10));
    under.withdraw(artifact);
    await assert.rejects(
      under.fetcher.fetch(workerId, artifact, never, aWorkKey),
      fails("artifact_lost"),
    );
  });

  check("[QU52] an aborted fetch is cancelled", async (under) => {
    const artifact = await under.offer(new Uint8Array(3_000_000));
    const abort = new AbortController();
    const fetching = under.fetcher.fetch(workerId, artifact, abort.signal, aWorkKey);
    abort.abort();
    await assert.rejects(fetching, fails("cancelled"));
    await assert.rejects(
      under.fetcher.fetch(workerId, artifact, abort.signal, aWorkKey),
      fails("cancelled"),
    );
  });

  check("[QU53] copies stay within their bound, and make room when they go", async (under) => {
    const artifact = await under.offer(new Uint8Array(3_000_000));
    const first = await under.fetcher.fetch(workerId, artifact, never, aWorkKey);
    const second = await under.fetcher.fetch(workerId, artifact, never, aWorkKey);
    await assert.rejects(
      under.fetcher.fetch(workerId, artifact, never, aWorkKey),
      fails("disk_full"),
    );
    await first.dispose();
    const third = await under.fetcher.fetch(workerId, artifact, never, aWorkKey);
    await Promise.all([second.dispose(), third.dispose()]);
  });
}
