/** Plans changes of tables and of their columns. */
import { assert, OperatingError, unreachable } from "../../../ground/kernel/errors.ts";
import { fieldTree, flattenField } from "./column-types.ts";
import type { NewColumn, NewDataFile, TableChange } from "./commit.ts";
import { type CommitPlanner, conflict } from "./commit-planner.ts";
import { storedDefault, storedInitialDefault } from "./default-values.ts";
import { directoryOf, tableDirectory } from "./lake-paths.ts";
import type { TableId } from "./model.ts";
import { addFiles } from "./plan-row-change.ts";
import type { ColumnRow, SchemaRow } from "./rows.ts";
import type { WorkingTable } from "./working-table.ts";

type DefinitionChange = Exclude<TableChange, { readonly kind: "changeRows" }>;
type CreateTable = Extract<TableChange, { readonly kind: "createTable" }>;

export function planDefinition(planner: CommitPlanner, change: DefinitionChange): void {
  planner.isSchemaChange = true;
  switch (change.kind) {
    case "createTable":
      createTable(planner, change);
      break;
    case "dropTable":
      dropTable(planner, planner.table(change.tableId));
      break;
    case "renameTable":
      renameTable(planner, planner.table(change.tableId), change.name);
      break;
    case "addColumn":
      addColumn(planner, alterable(planner, change.tableId), change);
      break;
    case "dropColumn":
      dropColumn(alterable(planner, change.tableId), change.columnId);
      break;
    case "renameColumn":
      renameColumn(planner, alterable(planner, change.tableId), change.columnId, change.name);
      break;
    default:
      unreachable(change);
  }
}

function addColumn(
  planner: CommitPlanner,
  table: WorkingTable,
  { column, initialDefault }: Extract<TableChange, { readonly kind: "addColumn" }>,
): void {
  refuseColumn(table, column.name);
  const columnId = 1 + Math.max(0, ...table.columnRows().map((row) => row.column_id));
  const initial = storedInitialDefault(initialDefault);
  table.addColumns(columnRows(planner, table.id, column, columnId, initial));
}

function dropColumn(table: WorkingTable, columnId: number): void {
  liveColumn(table, columnId);
  const roots = table.liveColumns().filter((row) => row.parent_column === null);
  if (roots.length === 1) {
    throw badRequest(`table ${table.name} would have no column left`, "drop the table instead");
  }
  table.endColumn(columnId);
}

function createTable(planner: CommitPlanner, change: CreateTable): void {
  const schema = liveSchema(planner, change.schema);
  if (change.columns.length === 0) {
    throw badRequest(`table ${change.name} has no columns`, "name at least one");
  }
  const taken = planner.tableNamed(schema.schema_id, change.name);
  if (taken !== undefined && !change.orReplace) throw nameTaken("table", change.name);
  if (taken !== undefined) dropTable(planner, taken);
  const tableId = planner.takeCatalogId() as TableId;
  const uuid = planner.facts.createUuid();
  const path = tablePath(schema, change, uuid);
  const table = planner.addTable({
    schema,
    table: {
      table_id: tableId,
      table_uuid: uuid,
      begin_snapshot: planner.snapshot,
      end_snapshot: null,
      schema_id: schema.schema_id,
      table_name: change.name,
      path,
      path_is_relative: 1,
    },
    columns: [],
    stats: undefined,
    columnStats: [],
    liveFileCount: 0,
    liveFileStats: undefined,
  });
  let columnId = 1;
  for (const column of change.columns) {
    refuseColumn(table, column.name);
    const rows = columnRows(planner, tableId, column, columnId, null);
    table.addColumns(rows);
    columnId += rows.length;
  }
  planner.entries.push({ kind: "created_table", name: [schema.schema_name, change.name] });
  planner.created.push(tableId);
  if (change.files.length > 0) addFiles(planner, table, change.files);
}

/** The table's directory relative to its schema's. */
function tablePath(schema: SchemaRow, change: CreateTable, uuid: string): string {
  const [first] = change.files as readonly (NewDataFile | undefined)[];
  const chosen =
    change.path ??
    (first === undefined ? undefined : directoryOf(first.path)) ??
    tableDirectory(schema.path.replace(/\/$/, ""), change.name, uuid);
  assert(
    chosen.startsWith(schema.path) && chosen.endsWith("/"),
    `${chosen} is below ${schema.path}`,
  );
  return chosen.slice(schema.path.length);
}

function dropTable(planner: CommitPlanner, table: WorkingTable): void {
  table.isDropped = true;
  planner.entries.push({ kind: "dropped_table", id: table.id });
}

function renameTable(planner: CommitPlanner, table: WorkingTable, name: string): void {
  if (table.facts.table.begin_snapshot > planner.readSnapshot) {
    throw conflict(`table ${table.name} was renamed meanwhile`);
  }
  const taken = planner.tableNamed(table.schemaId, name);
  if (taken !== undefined && taken !== table) throw nameTaken("table", name);
  table.rename(name);
  planner.entries.push({ kind: "created_table", name: [table.schema.schema_name, name] });
}

function renameColumn(
  planner: CommitPlanner,
  table: WorkingTable,
  columnId: number,
  name: string,
): void {
  const column = liveColumn(table, columnId);
  if (column.column_name.toLowerCase() !== name.toLowerCase()) refuseColumn(table, name);
  const children = table
    .liveColumns()
    .filter((row) => table.withChildren(columnId).includes(row.column_id) && row !== column);
  table.endColumn(columnId);
  const begun = { begin_snapshot: planner.snapshot, end_snapshot: null };
  table.addColumns([
    { ...column, ...begun, column_name: name },
    ...children.map((row) => ({ ...row, ...begun })),
  ]);
}

/** A table whose columns have not changed since the author read them. */
function alterable(planner: CommitPlanner, tableId: TableId): WorkingTable {
  const table = planner.table(tableId);
  if (table.changedColumnsSince(planner.readSnapshot)) {
    throw conflict(`columns of table ${table.name} were changed meanwhile`);
  }
  planner.entries.push({ kind: "altered_table", id: tableId });
  return table;
}

function columnRows(
  planner: CommitPlanner,
  tableId: number,
  column: NewColumn,
  columnId: number,
  initialDefault: string | null,
): ColumnRow[] {
  const stored = storedDefault(column.defaultValue);
  return flattenField(fieldTree(column.name, column.type, columnId)).map((field) => {
    const isRoot = field.parentId === undefined;
    return {
      column_id: field.columnId,
      begin_snapshot: planner.snapshot,
      end_snapshot: null,
      table_id: tableId,
      column_order: field.columnId,
      column_name: field.name,
      column_type: field.type,
      initial_default: isRoot ? initialDefault : null,
      default_value: isRoot ? stored.value : "NULL",
      nulls_allowed: isRoot ? Number(column.nullable) : 1,
      parent_column: field.parentId ?? null,
      default_value_type: isRoot ? stored.kind : "literal",
      default_value_dialect: "duckdb",
    };
  });
}

function liveSchema(planner: CommitPlanner, name: string): SchemaRow {
  const wanted = name.toLowerCase();
  const schema = planner.facts.schemas.find((row) => row.schema_name.toLowerCase() === wanted);
  if (schema !== undefined) return schema;
  const names = planner.facts.schemas.map((row) => row.schema_name).join(", ");
  throw new OperatingError("not_found", "never", `there is no schema ${name}`, {
    hint: `there is ${names}`,
  });
}

function liveColumn(table: WorkingTable, columnId: number): ColumnRow {
  const column = table.liveColumns().find((row) => row.column_id === columnId);
  if (column?.parent_column === null) return column;
  throw new OperatingError("not_found", "never", `table ${table.name} has no column ${columnId}`);
}

function refuseColumn(table: WorkingTable, name: string): void {
  if (name === "") throw badRequest(`a column of table ${table.name} has no name`, "name it");
  const wanted = name.toLowerCase();
  const isTaken = table
    .liveColumns()
    .some((row) => row.parent_column === null && row.column_name.toLowerCase() === wanted);
  if (isTaken) throw nameTaken(`column of ${table.name}`, name);
}

function nameTaken(what: string, name: string): OperatingError {
  return new OperatingError("already_exists", "never", `there is a ${what} named ${name} already`, {
    hint: "choose another name",
  });
}

function badRequest(message: string, hint: string): OperatingError {
  return new OperatingError("bad_request", "never", message, { hint });
}
