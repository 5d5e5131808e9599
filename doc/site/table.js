// table.js - sorts and filters the rows of the table of settings (table.md); other pages have no such table
document.addEventListener('DOMContentLoaded', () => {
	const table = [...document.querySelectorAll('table')].find(
		(x) => x.rows[0].cells.length === 8 && x.rows[0].cells[0].textContent === 'program');
	if (!table)
		return;
	const body = table.tBodies[0], rows = [...body.rows];
	const text = (row, column) => row.cells[column].textContent.trim();

	const field = document.createElement('input');
	field.type = 'search';
	field.placeholder = 'filter: vit 2.15 expandable';
	field.setAttribute('aria-label', 'words that a row must contain');
	field.className = 'rows-filter';
	const count = document.createElement('span');
	count.setAttribute('role', 'status');
	(table.closest('.md-typeset__scrollwrap') || table).before(field, count);
	const filter = () => {
		const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
		for (const row of rows)
			row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
		count.textContent = ` ${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
	};
	field.addEventListener('input', filter);
	filter();

	// Numbers by value, and what is no number (none) after all of them; text by its letters.
	[...table.rows[0].cells].forEach((heading, column) => {
		const sort = () => {
			const down = heading.getAttribute('aria-sort') === 'ascending';
			for (const other of table.rows[0].cells)
				other.removeAttribute('aria-sort');
			heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			const value = (row) => column < 4 ? text(row, column) : parseFloat(text(row, column));
			const compare = (a, b) => column < 4 ? a.localeCompare(b) : a - b;
			const known = rows.filter((row) => column < 4 || !Number.isNaN(value(row)));
			known.sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
			body.append(...known, ...rows.filter((row) => !known.includes(row)));
		};
		heading.tabIndex = 0;
		heading.style.cursor = 'pointer';
		heading.addEventListener('click', sort);
		heading.addEventListener('keydown', (event) => {
			if (event.key === 'Enter')
				sort();
		});
	});
});
