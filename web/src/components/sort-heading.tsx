/** A heading that sorts its column; a second click turns the order round. */
import { IconChevronDown, IconChevronUp } from "@tabler/icons-react";

export interface Heading<Key extends string> {
  readonly title: string;
  /** Without it the column does not sort. */
  readonly sort?: Key;
  readonly className?: string;
}

interface Sorting<Key extends string> {
  readonly sort: Key;
  readonly descending: boolean;
}

interface SortHeadingProps<Key extends string> {
  readonly heading: Heading<Key>;
  readonly view: Sorting<Key>;
  readonly onView: (change: Sorting<Key>) => void;
}

export function SortHeading<Key extends string>(props: SortHeadingProps<Key>) {
  const { heading, view, onView } = props;
  const { title, sort, className = "" } = heading;
  if (sort === undefined) return <th className={className}>{title}</th>;
  const sorted = view.sort === sort;
  const Chevron = sorted && view.descending ? IconChevronDown : IconChevronUp;
  const direction = sorted ? (view.descending ? "descending" : "ascending") : "none";
  return (
    <th className={className} aria-sort={direction}>
      <button
        type="button"
        className="sort"
        onClick={() => onView({ sort, descending: sorted && !view.descending })}
      >
        {title}
        <Chevron size={13} aria-hidden="true" />
      </button>
    </th>
  );
}
