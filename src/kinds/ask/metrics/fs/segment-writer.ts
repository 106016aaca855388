/**
 * Writes one segment: series go in, in the order of (metric name, labels); `finish` makes the files durable and gives
 * what the catalog must be told. Until then, and after `abort`, there is nothing in the lake but a temporary directory.
 */
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { parquetRuntime } from "../../../../data/parquet/index.ts";
import type { Files, OpenFile } from "../../../../ground/kernel/files.ts";
import { realFiles } from "../../../../ground/kernel/node/real-files.ts";
import type { RawSeries } from "../../promql/core/index.ts";
import type { Fingerprint } from "../core/fingerprint.ts";
import type { SegmentInfo } from "../core/model.ts";
import { SegmentEncoder, type SegmentPiece } from "../core/segment-encoder.ts";
import { type SegmentFile, segmentFileNames } from "../core/segment-schema.ts";
import { segmentsFolder, temporaryFolder } from "./lake.ts";

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
  readonly files?: Files;
}

interface WrittenFile {
  readonly file: OpenFile;
  bytes: number;
  /** Of what was given to be written: what the disk made of it is compared with that. */
  crc32: number;
}

export class SegmentWriter {
  readonly #target: SegmentTarget;
  readonly #directory: string;
  readonly #encoder = new SegmentEncoder(parquetRuntime);
  readonly #files: Files;
  readonly #open = new Map<SegmentFile, WrittenFile>();

  constructor(target: SegmentTarget) {
    this.#target = target;
    this.#files = target.files ?? realFiles;
    this.#directory = join(target.lakeDir, temporaryFolder, target.segmentId);
  }

  get sampleCount(): number {
    return this.#encoder.sampleCount;
  }

  /** `undefined`: nothing had to be written, and there is nothing to wait for. */
  add(series: RawSeries, fingerprint?: Fingerprint): Promise<void> | undefined {
    this.#encoder.add(series, fingerprint);
    const pieces = this.#encoder.drain();
    return pieces.length === 0 ? undefined : this.#write(pieces);
  }

  /** Durable and in place. Not visible before the catalog knows it. */
  async finish(): Promise<SegmentInfo> {
    const content = this.#encoder.finish();
    await this.#write(this.#encoder.drain());
    for (const { file } of this.#open.values()) await file.sync();
    const checksums: Partial<Record<SegmentFile, number>> = {};
    for (const [name, written] of this.#open) checksums[name] = written.crc32;
    await this.#close();
    await this.#files.sync(this.#directory);
    const { lakeDir, segmentId, shard, shardCount, level, seq, sealSeq } = this.#target;
    const path = `${segmentsFolder}/${segmentId}`;
    await this.#files.rename(this.#directory, join(lakeDir, path));
    await this.#files.sync(join(lakeDir, segmentsFolder));
    return { segmentId, seq, level, shardCount, shard, path, sealSeq, checksums, ...content };
  }

  /** Idempotent. */
  async abort(): Promise<void> {
    await this.#close();
    await this.#files.removeAll(this.#directory);
  }

  async #write(pieces: readonly SegmentPiece[]): Promise<void> {
    if (this.#open.size === 0) await this.#files.makeDirectory(this.#directory);
    for (const { file: name, bytes } of pieces) {
      let open = this.#open.get(name);
      if (open === undefined) {
        const path = join(this.#directory, segmentFileNames[name]);
        open = { file: await this.#files.open(path, "new"), bytes: 0, crc32: 0 };
        this.#open.set(name, open);
      }
      await open.file.write(bytes, open.bytes);
      open.bytes += bytes.length;
      open.crc32 = crc32(bytes, open.crc32);
    }
  }

  async #close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { file } of open) await file.close();
  }
}
