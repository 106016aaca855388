/**
 * The table of the dashboard: headings that may sort, a row for each item, or the reason why there
 * are none. Columns with `from-sm`, `from-md` or `from-lg` are hidden in narrower windows.
 */
import { Button, Skeleton, VisuallyHidden } from "@mantine/core";
import { IconChevronDown, IconChevronUp } from "@tabler/icons-react";
import { Fragment, type HTMLAttributes, type ReactNode } from "react";
import "./data-table.css";
import { Unreadable } from "./empty.tsx";

export interface Column<Row, Key extends string = never> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The class of the heading and of every cell. */
  readonly className?: string;
  /** The class of a single cell, by its row. */
  readonly tone?: (row: Row) => string;
  /** The tooltip of the heading. */
  readonly hint?: string;
  /** Only screen readers hear the title. */
  readonly isTitleHidden?: boolean;
  /** Absent when the column does not sort. */
  readonly sort?: Key;
}

export interface Sorting<Key extends string> {
  readonly sort: Key;
  readonly descending: boolean;
}

type RowAttributes = HTMLAttributes<HTMLTableRowElement> &
  Readonly<Record<`data-${string}`, unknown>>;

interface DataTableProps<Row, Key extends string> {
  readonly label: string;
  readonly columns: readonly Column<Row, Key>[];
  /** Undefined until they are read, or when `error` prevented it. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row, index: number) => string | number;
  readonly error?: Error | null;
  /** Why there are no rows, and what to do. */
  readonly empty?: ReactNode;
  /** Whether the rows are of the previous request. */
  readonly isStale?: boolean;
  readonly view?: Sorting<Key>;
  readonly onView?: (change: Sorting<Key>) => void;
  readonly rowProps?: (row: Row) => RowAttributes;
  /** A second line below the row, over all columns. */
  readonly detail?: (row: Row) => ReactNode;
  /** Absent when there are no more rows. */
  readonly more?: More | false;
}

export function DataTable<Row, Key extends string = never>(props: DataTableProps<Row, Key>) {
  const { rows, error, empty } = props;
  if (rows === undefined) {
    return error ? <Note role="alert">{error.message}</Note> : <Loading label={props.label} />;
  }
  if (rows.length === 0 && empty !== undefined) {
    return typeof empty === "string" ? <Note>{empty}</Note> : empty;
  }
  return (
    <>
      <div className="table-scroll">
        <table className="table" aria-label={props.label} aria-busy={props.isStale ?? false}>
          <Head {...props} />
          <tbody>
            {rows.map((row, index) => (
              <Line key={props.rowKey(row, index)} {...props} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      {props.more && <MoreButton {...props.more} />}
    </>
  );
}

function Head<Row, Key extends string>({ columns, view, onView }: DataTableProps<Row, Key>) {
  return (
    <thead>
      <tr>
        {columns.map((column) =>
          column.sort !== undefined && view !== undefined && onView !== undefined ? (
            <SortHeading key={column.title} column={column} view={view} onView={onView} />
          ) : (
            <th key={column.title} className={column.className} title={column.hint}>
              {column.isTitleHidden ? (
                <VisuallyHidden>{column.title}</VisuallyHidden>
              ) : (
                column.title
              )}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

interface SortHeadingProps<Row, Key extends string> {
  readonly column: Column<Row, Key>;
  readonly view: Sorting<Key>;
  readonly onView: (change: Sorting<Key>) => void;
}

/** A second click reverses the order. */
function SortHeading<Row, Key extends string>({
  column,
  view,
  onView,
}: SortHeadingProps<Row, Key>) {
  const { title, sort = view.sort, className, hint } = column;
  const isSorted = view.sort === sort;
  const Chevron = isSorted && view.descending ? IconChevronDown : IconChevronUp;
  const direction = isSorted ? (view.descending ? "descending" : "ascending") : "none";
  return (
    <th className={className} title={hint} aria-sort={direction}>
      <button
        type="button"
        className="sort"
        onClick={() => onView({ sort, descending: isSorted && !view.descending })}
      >
        {title}
        <Chevron size={13} aria-hidden="true" />
      </button>
    </th>
  );
}

type LineProps<Row, Key extends string> = DataTableProps<Row, Key> & { readonly row: Row };

function Line<Row, Key extends string>({ columns, rowProps, detail, row }: LineProps<Row, Key>) {
  const below = detail?.(row);
  return (
    <Fragment>
      <tr {...rowProps?.(row)}>
        {columns.map(({ title, className = "", tone, cell }) => (
          <td key={title} className={`${className} ${tone?.(row) ?? ""}`}>
            {cell(row)}
          </td>
        ))}
      </tr>
      {below && (
        <tr className="table-detail">
          <td colSpan={columns.length}>{below}</td>
        </tr>
      )}
    </Fragment>
  );
}

/** Asks for the next page. */
export interface More {
  readonly isLoading: boolean;
  readonly onMore: () => void;
}

function MoreButton({ isLoading, onMore }: More) {
  return (
    <div className="table-more">
      <Button variant="subtle" loading={isLoading} onClick={onMore}>
        Show older ones
      </Button>
    </div>
  );
}

export function Loading({ label }: { readonly label: string }) {
  return (
    <div className="table-loading" role="status" aria-label={`Loading ${label.toLowerCase()}`}>
      <Skeleton height={26} />
      <Skeleton height={26} />
      <Skeleton height={26} />
    </div>
  );
}

/** A card while its list is loading, or could not be read. */
export function Waiting({
  label,
  error,
}: {
  readonly label: string;
  readonly error: Error | null;
}) {
  return (
    <div className="card">
      {error === null ? (
        <Loading label={label} />
      ) : (
        <Unreadable what={label.toLowerCase()} error={error} />
      )}
    </div>
  );
}

function Note({ role, children }: { readonly role?: "alert"; readonly children: string }) {
  return (
    <p className="dim card-body" role={role}>
      {children}
    </p>
  );
}
