/**
 * Writes one segment. Series are added in the order of (metric name, labels); `finish` makes the
 * files durable and returns the catalog entry. Before that, and after `abort`, the lake has at most
 * a temporary directory.
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
  /** Unique for ever; also the directory's name. */
  readonly segmentId: string;
  readonly shard: number;
  readonly shardCount: number;
  readonly level: number;
  /** 0 when the catalog assigns the next one at publication. */
  readonly seq: number;
  readonly sealSeq: number;
  readonly files?: Files;
}

interface WrittenFile {
  readonly file: OpenFile;
  bytes: number;
  /** The checksum of the bytes given to the disk, to compare with what it stored. */
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

  /** Undefined when nothing has to be awaited. */
  add(series: RawSeries, fingerprint?: Fingerprint): Promise<void> | undefined {
    this.#encoder.add(series, fingerprint);
    const pieces = this.#encoder.drain();
    return pieces.length === 0 ? undefined : this.#write(pieces);
  }

  /** Makes the segment durable. It is not visible before the catalog has it. */
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
