/** Parquet's numbers of the types, encodings and codecs that this codec knows. */
import type { ColumnType, Encoding } from "./parquet-types.ts";

export const magic: Uint8Array = Uint8Array.of(0x50, 0x41, 0x52, 0x31); // PAR1

export const physicalTypes: Readonly<Record<ColumnType, number>> = {
  boolean: 0,
  int32: 1,
  int64: 2,
  bigint64: 2,
  float: 4,
  double: 5,
  text: 6,
  bytes: 6,
};

export const encodings: Readonly<Record<Encoding, number>> = {
  plain: 0,
  delta: 5,
  prefix: 7,
  dictionary: 8,
  split: 9,
};
/** The encoding of levels, which only nullable columns have. */
export const rleEncoding = 3;
export const codecs = { none: 0, zstd: 6 } as const;
export const dataPage = 0;
export const dictionaryPage = 2;
export const required = 0;
export const optional = 1;
/** The converted type of texts, for readers that do not know logical types. */
export const utf8Converted = 0;

/** The converted type of integers: UINT_8 to UINT_64, then INT_8 to INT_64. */
export function integerConverted(bits: 8 | 16 | 32 | 64, isSigned: boolean): number {
  return (isSigned ? 15 : 11) + [8, 16, 32, 64].indexOf(bits);
}
