for(const b of document.querySelectorAll('button'))b.disabled=false
const A='ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
let last=-1,turn=1
document.addEventListener('click',e=>{
const b=e.target.closest('button')
if(!b)return
if(b.dataset.sort){
const c=+b.dataset.sort,rows=document.querySelector('.rows'),n=c==0||c==2||c==4
turn=c==last?-turn:n&&c?-1:1
last=c
const all=[...rows.children].map((d,i)=>{const t=d.firstChild.children[c].textContent
return{d,i,k:n?parseFloat(t):t}})
all.sort((x,y)=>turn*(x.k<y.k?-1:x.k>y.k?1:0)||x.i-y.i)
rows.append(...all.map(x=>x.d))
return
}
const p=b.closest('.pic'),all=[...p.querySelectorAll('.g button')],t=all.indexOf(b)
all.forEach((x,i)=>x.setAttribute('aria-pressed',i==t))
const tokens=p.querySelectorAll('.s i'),v=p.dataset.v,m=tokens.length,scale=+p.dataset.scale
tokens.forEach((x,j)=>{
const k=2*(t*m+j),s=64*A.indexOf(v[k])+A.indexOf(v[k+1])
x.title=(100*s/4095).toFixed(1)+'\xa0%'
if(!x.classList.contains('k'))
x.className='q'+Math.min(16,Math.floor(s/scale*16+.5))+(x.classList.contains('m')?' m':'')
})
})
