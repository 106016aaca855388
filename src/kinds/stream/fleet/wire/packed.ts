/**
 * What travels as JSON inside the frames: fragments, whose plans are plain JSON, and where the
 * state of fragments lies. Long ones are deflated, since a frame is bounded and lists of state
 * repeat themselves.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { assert, messageOf, OperatingError } from "../../../../ground/kernel/errors.ts";
import { violation } from "../../../../ground/kernel/wire-values.ts";
import type { FarEnd, FragmentSpec, ManifestFragment } from "../../run/core/index.ts";
import type { Packed, PackedSchema } from "./gen/stream_pb.ts";
import { fragmentNameOf } from "./names.ts";

type PackedInit = MessageInitShape<typeof PackedSchema>;
type Ends = readonly (readonly [exchange: number, ends: readonly FarEnd[]])[];

/** `FragmentSpec` as JSON. */
interface SpecData extends Omit<FragmentSpec, "out" | "in" | "restored"> {
  readonly out: Ends;
  readonly in: Ends;
}

const plainBytesMax = 16 * 1024;
/** Well below what a session takes as one message. */
const packedBytesMax = 3 * 1024 * 1024;
const unpackedBytesMax = 64 * 1024 * 1024;

export function packSpecs(specs: readonly FragmentSpec[]): PackedInit {
  return pack(
    specs.map((spec): SpecData => {
      const { restored, out, in: into, ...plain } = spec;
      assert(restored === undefined, "the state of a fragment does not travel with it");
      return { ...plain, out: [...out], in: [...into] };
    }),
  );
}

export function unpackSpecs(field: string, packed: Packed): readonly FragmentSpec[] {
  return listOf<SpecData>(field, packed).map((data): FragmentSpec => {
    const { lane, nodes, settings, keepsState } = data;
    const isSpec =
      Number.isSafeInteger(lane) &&
      Array.isArray(nodes) &&
      typeof settings === "object" &&
      typeof keepsState === "boolean";
    if (!isSpec) throw violation(`${field} has something that is no fragment`);
    return {
      fragment: fragmentNameOf(`${field}.fragment`, data.fragment),
      ...{ lane, nodes, settings, keepsState },
      out: endsOf(`${field}.out`, data.out),
      in: endsOf(`${field}.in`, data.in),
      restored: undefined,
    };
  });
}

export function packManifests(manifests: readonly ManifestFragment[]): PackedInit {
  return pack(manifests);
}

export function unpackManifests(field: string, packed: Packed): readonly ManifestFragment[] {
  return listOf<ManifestFragment>(field, packed).map((manifest) => {
    const { fragment, nodes, positions, objects } = manifest;
    const isManifest =
      Array.isArray(nodes) && typeof positions === "object" && Array.isArray(objects);
    if (!isManifest) throw violation(`${field} has something that is no state of a fragment`);
    return { fragment: fragmentNameOf(`${field}.fragment`, fragment), nodes, positions, objects };
  });
}

function endsOf(field: string, ends: Ends): ReadonlyMap<number, readonly FarEnd[]> {
  if (!Array.isArray(ends)) throw violation(`${field} is no list`);
  return new Map(
    ends.map(([exchange, all]) => [
      Number(exchange),
      all.map(({ fragment, address }: FarEnd) => ({
        fragment: fragmentNameOf(field, fragment),
        address: address === undefined ? undefined : String(address),
      })),
    ]),
  );
}

function pack(value: unknown): PackedInit {
  const json = Buffer.from(JSON.stringify(value));
  const deflated = json.length > plainBytesMax;
  const packed = deflated ? deflateRawSync(json, { level: 1 }) : json;
  if (packed.length > packedBytesMax) {
    const mebibytes = (packed.length / 1024 ** 2).toFixed(1);
    const message = `the query is too large to be sent to a worker: ${mebibytes} MiB of plan or state`;
    throw new OperatingError("query_too_large", "never", message);
  }
  return { json: packed, deflated };
}

function listOf<T>(field: string, { json, deflated }: Packed): readonly T[] {
  let value: unknown;
  try {
    const limits = { maxOutputLength: unpackedBytesMax };
    value = JSON.parse(Buffer.from(deflated ? inflateRawSync(json, limits) : json).toString());
  } catch (thrown) {
    throw violation(`${field} is no JSON: ${messageOf(thrown)}`);
  }
  if (Array.isArray(value) && value.every((one) => typeof one === "object" && one !== null)) {
    return value as readonly T[];
  }
  throw violation(`${field} is no list`);
}
