import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { parse, type Block, type Inline } from "./markdown";

/** A logged text: paragraphs, headings, lists, tables, quotes, code, emphasis and links to the web; all else is text. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => parse(text), [text]);
  return <div class="pictures-text">{blocks.map((block, place) => <BlockOf key={place} block={block} />)}</div>;
}

function BlockOf({ block }: { block: Block }) {
  switch (block.is) {
    case "paragraph":
      return <p><Parts of={block.parts} /></p>;
    case "heading":
      return <p class={`pictures-heading pictures-heading-${Math.min(block.level, 3)}`} role="heading" aria-level={Math.min(block.level + 3, 6)}><Parts of={block.parts} /></p>;
    case "code":
      return <pre tabIndex={0}><code>{block.text}</code></pre>;
    case "quote":
      return <blockquote><Parts of={block.parts} /></blockquote>;
    case "rule":
      return <hr />;
    case "list":
      return <ListOf ordered={block.ordered} items={block.items} />;
    case "table":
      return <TableOf head={block.head} rows={block.rows} />;
  }
}

function ListOf({ ordered, items }: { ordered: boolean; items: Inline[][] }) {
  const shown = items.map((item, place) => <li key={place}><Parts of={item} /></li>);
  return ordered ? <ol>{shown}</ol> : <ul>{shown}</ul>;
}

function TableOf({ head, rows }: { head: Inline[][]; rows: Inline[][][] }) {
  return (
    <div class="table" role="region" aria-label="Table of the text" tabIndex={0}>
      <table>
        <thead><tr>{head.map((cell, place) => <th key={place} scope="col"><Parts of={cell} /></th>)}</tr></thead>
        <tbody>{rows.map((row, at) => <tr key={at}>{row.map((cell, place) => <td key={place}><Parts of={cell} /></td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function Parts({ of }: { of: Inline[] }) {
  return <>{of.map((part, place) => <PartOf key={place} part={part} />)}</>;
}

function PartOf({ part }: { part: Inline }): JSX.Element {
  switch (part.is) {
    case "text":
      return <>{part.text}</>;
    case "code":
      return <code>{part.text}</code>;
    case "strong":
      return <strong><Parts of={part.parts} /></strong>;
    case "emphasis":
      return <em><Parts of={part.parts} /></em>;
    case "link":
      return <a href={part.href} rel="noopener noreferrer" target="_blank" title={part.href}><Parts of={part.parts} /></a>;
  }
}
