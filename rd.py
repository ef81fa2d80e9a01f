import os,sys,random,time
pid,mode=sys.argv[1:3]
fd=os.open('/tmp/fast/m/v',os.O_RDONLY)
def sw():
    t=0
    for x in os.listdir(f'/proc/{pid}/task'):
        for l in open(f'/proc/{pid}/task/{x}/status'):
            if l.startswith('voluntary'): t+=int(l.split()[1])
    return t
r=random.Random(3)
if mode=='cold':
    o=list(range(88)); r.shuffle(o)
    os.pread(fd,4096,o.pop()*512*1024)
    a=sw(); t=time.time()
    for i in o: os.pread(fd,4096,i*512*1024+4096*r.randrange(128))
    t=time.time()-t
    print('cold: switches a read',(sw()-a)/len(o), 'us a read', t/len(o)*1e6)
else:
    os.pread(fd,4096,0); os.pread(fd,4096,8192)
    time.sleep(.3)
    offs=[4096*r.randrange(128) for i in range(100)] if mode=='warm' else [4096*i for i in range(100)]
    print('go',flush=True); sys.stdin.readline()
    for o in offs: os.pread(fd,4096,o)
    print('done',flush=True)
