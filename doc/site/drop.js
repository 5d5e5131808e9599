// drop.js - files that are dragged over the first page meet fragsim.html there, and are dropped on it; without it the link remains
document.addEventListener('DOMContentLoaded', () => {
	const field = document.querySelector('.drop');
	if (!field)
		return;
	const over = document.createElement('div');
	over.className = 'browser';
	over.hidden = true;
	const close = document.createElement('button');
	close.textContent = 'Back to the site';
	close.addEventListener('click', () => { over.hidden = true; });
	over.append(close);
	document.body.append(over);

	let loaded = null;      // the page, once asked for: 1.2 MB
	const show = () => {
		if (!loaded) {
			const page = document.createElement('iframe');
			page.title = 'fragsim';
			loaded = new Promise((done) => page.addEventListener('load', done));
			page.src = field.querySelector('a').href;
			over.append(page);
		}
		loaded.then(() => { over.hidden = false; });
	};
	addEventListener('dragover', (event) => {
		if (![...event.dataTransfer.types].includes('Files'))
			return;
		event.preventDefault();
		show();
	});
	// one that comes before the page has loaded must not replace the site
	addEventListener('drop', (event) => event.preventDefault());
});
