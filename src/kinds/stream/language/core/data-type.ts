/** The types of the dialect, and schemas made of them. */

export const integerTypes = [
  "INT8",
  "INT16",
  "INT32",
  "INT64",
  "UINT8",
  "UINT16",
  "UINT32",
  "UINT64",
] as const;
export const floatTypes = ["FLOAT32", "FLOAT64"] as const;

export type IntegerType = (typeof integerTypes)[number];
export type FloatType = (typeof floatTypes)[number];
export type FixedType = IntegerType | FloatType | "BOOLEAN" | "CHAR";
export type TypeName = FixedType | "VARSIZED";

export interface DataType {
  readonly name: TypeName;
  readonly nullable: boolean;
}

export interface Field {
  /** In the spelling of its declaration. Names compare case-insensitively. */
  readonly name: string;
  readonly type: DataType;
}

export type Schema = readonly Field[];

const widths: Readonly<Record<TypeName, number>> = {
  INT8: 1,
  UINT8: 1,
  BOOLEAN: 1,
  CHAR: 1,
  INT16: 2,
  UINT16: 2,
  INT32: 4,
  UINT32: 4,
  FLOAT32: 4,
  INT64: 8,
  UINT64: 8,
  FLOAT64: 8,
  VARSIZED: 0,
};

/** The bytes of one value in a column; 0 for VARSIZED, whose content is elsewhere. */
export function widthOf(name: TypeName): number {
  return widths[name];
}

export function isInteger(name: TypeName): name is IntegerType {
  return (integerTypes as readonly TypeName[]).includes(name);
}

export function isFloat(name: TypeName): name is FloatType {
  return (floatTypes as readonly TypeName[]).includes(name);
}

export function isNumeric(name: TypeName): name is IntegerType | FloatType {
  return isInteger(name) || isFloat(name);
}

export function isSigned(name: TypeName): boolean {
  return name.startsWith("INT") || isFloat(name);
}

export function notNull(name: TypeName): DataType {
  return { name, nullable: false };
}

export function nullable(name: TypeName): DataType {
  return { name, nullable: true };
}
