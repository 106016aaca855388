import { hash } from "node:crypto";
import type { WorkId } from "../../../kernel/ids.ts";
import { settleMicrotasks } from "../../../kernel/testing/virtual-clock.ts";
import { testArtifactFetcher } from "../artifact-fetcher.contract.ts";
import { testArtifactSpool } from "../artifact-spool.contract.ts";
import { MemoryArtifactFetcher } from "./memory-artifact-fetcher.ts";
import { MemoryArtifactSpool } from "./memory-artifact-spool.ts";
import { testArtifact } from "./test-works.ts";

testArtifactSpool("memory", (capacityBytes) => {
  const spool = new MemoryArtifactSpool(capacityBytes);
  return Promise.resolve({
    spool,
    write: (path, bytes) => {
      spool.files.set(path, bytes);
      return Promise.resolve();
    },
    read: (path) => Promise.resolve(spool.files.get(path)),
    settled: settleMicrotasks,
    close: () => Promise.resolve(),
  });
});

const checksum = (bytes: Uint8Array): string => `sha256:${hash("sha256", bytes, "hex")}`;

testArtifactFetcher("memory", (capacityBytes) => {
  const fetcher = new MemoryArtifactFetcher(capacityBytes, checksum);
  let next = 1;
  return Promise.resolve({
    fetcher,
    offer: (bytes, lies = {}) => {
      const workId = String(next++) as WorkId;
      const described = { sizeBytes: bytes.length, checksum: checksum(bytes) };
      const artifact = { ...testArtifact(workId), ...described, ...lies };
      fetcher.offered.set(artifact.url, bytes);
      return Promise.resolve(artifact);
    },
    withdraw: ({ url }) => {
      fetcher.offered.delete(url);
    },
    read: (path) => Promise.resolve(fetcher.copies.get(path) ?? new Uint8Array(0)),
    copies: () => Promise.resolve(fetcher.copies.size),
    close: () => Promise.resolve(),
  });
});
