/**
 * Writes one segment: series go in, in the order of (metric name, labels); `finish` makes the files durable and gives
 * what the catalog must be told. Until then, and after `abort`, there is nothing in the lake but a temporary directory.
 */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { parquetRuntime } from "../../parquet/index.ts";
import type { RawSeries } from "../../promql/core/index.ts";
import type { Fingerprint } from "../core/fingerprint.ts";
import type { SegmentInfo } from "../core/model.ts";
import { SegmentEncoder } from "../core/segment-encoder.ts";
import { type SegmentFile, segmentFileNames } from "../core/segment-schema.ts";
import { segmentsFolder, syncDirectory, syncFile, temporaryFolder } from "./lake.ts";

export interface SegmentTarget {
  readonly lakeDir: string;
  /** Unique for ever. It is the name of the directory. */
  readonly segmentId: string;
  readonly shard: number;
  readonly shardCount: number;
  readonly level: number;
  /** 0: the catalog gives the next one when it publishes. */
  readonly seq: number;
  readonly sealSeq: number;
}

export class SegmentWriter {
  readonly #target: SegmentTarget;
  readonly #directory: string;
  readonly #encoder = new SegmentEncoder(parquetRuntime);
  readonly #files = new Map<SegmentFile, number>();

  constructor(target: SegmentTarget) {
    this.#target = target;
    this.#directory = join(target.lakeDir, temporaryFolder, target.segmentId);
    mkdirSync(this.#directory, { recursive: true });
  }

  get sampleCount(): number {
    return this.#encoder.sampleCount;
  }

  add(series: RawSeries, fingerprint?: Fingerprint): void {
    this.#encoder.add(series, fingerprint);
    this.#write();
  }

  /** Durable and in place. Not visible before the catalog knows it. */
  async finish(): Promise<SegmentInfo> {
    const content = this.#encoder.finish();
    this.#write();
    for (const fd of this.#files.values()) await syncFile(fd);
    this.#close();
    await syncDirectory(this.#directory);
    const { lakeDir, segmentId, shard, shardCount, level, seq, sealSeq } = this.#target;
    const path = `${segmentsFolder}/${segmentId}`;
    await rename(this.#directory, join(lakeDir, path));
    await syncDirectory(join(lakeDir, segmentsFolder));
    return { segmentId, seq, level, shardCount, shard, path, sealSeq, ...content };
  }

  /** Idempotent. */
  async abort(): Promise<void> {
    this.#close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #write(): void {
    for (const { file, bytes } of this.#encoder.drain()) {
      let fd = this.#files.get(file);
      if (fd === undefined) {
        fd = openSync(join(this.#directory, segmentFileNames[file]), "wx");
        this.#files.set(file, fd);
      }
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    }
  }

  #close(): void {
    for (const fd of this.#files.values()) closeSync(fd);
    this.#files.clear();
  }
}
